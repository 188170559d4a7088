"""Numbers from alternating runs, kept by side, measurement and round."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.peers import Peer, PeerError


class Key(NamedTuple):
    """What was measured; the transitions are 0 where it has nothing to do with a buffer's size."""

    what: str
    transitions: int
    n_envs: int


class Job(NamedTuple):
    """One worker run of one side; jobs of a list are run in turn, round after round."""

    peer: Peer
    worker: str
    arguments: Sequence[str]


@dataclass
class Collection:
    """All that a benchmark run measured."""

    values: dict[str, dict[Key, dict[int, float]]] = field(default_factory=dict)
    """By side, measurement and round."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Package versions, by side."""
    failures: list[str] = field(default_factory=list)
    """What failed, a line each."""
    missing: set[str] = field(default_factory=set)
    """Prefixes of the sides that have no environment."""

    def prepare(self, peers: Sequence[Peer]) -> None:
        """Make the sides' environments; a side without one is left out."""
        for peer in peers:
            try:
                peer.prepare()
            except PeerError as error:
                self.missing.add(peer.prefix)
                self._fail(f"{peer.name}: no environment: {error}")

    def run(self, jobs: Sequence[Job], rounds: int) -> None:
        """Run the jobs one after another, `rounds` times; a failing one costs its numbers only."""
        for this_round in range(rounds):
            for job in jobs:
                if job.peer.prefix not in self.missing:
                    self._run_one(job, this_round)

    def _fail(self, line: str) -> None:
        print(f"FAILED {line}", flush=True)
        self.failures.append(line)

    def _run_one(self, job: Job, this_round: int) -> None:
        name, start = job.peer.name, time.perf_counter()
        label = f"round {this_round + 1}: {name}, {job.worker} {' '.join(job.arguments)}"
        try:
            result = job.peer.measure(job.worker, job.arguments)
        except PeerError as error:
            self._fail(f"{label}: {error}")
            return
        print(f"{label}: {time.perf_counter() - start:.0f} s", flush=True)
        self.versions.setdefault(name, {}).update(result.versions)
        of_peer = self.values.setdefault(name, {})
        for what, transitions, n_envs, value in result.measurements:
            of_peer.setdefault(Key(what, transitions, n_envs), {})[this_round] = value

    def median(self, peer: str, key: Key) -> float | None:
        """Median over the rounds; None where every round failed."""
        rounds = self.values.get(peer, {}).get(key)
        return statistics.median(rounds.values()) if rounds else None

    def of_rounds(self, peer: str, key: Key) -> dict[int, float]:
        """The value of each round that did not fail."""
        return self.values.get(peer, {}).get(key, {})

    def as_data(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "versions": self.versions,
            "failures": self.failures,
            "measurements": [
                {"side": peer, **key._asdict(), "rounds": list(rounds.values())}
                for peer, of_peer in self.values.items()
                for key, rounds in of_peer.items()
            ],
        }
