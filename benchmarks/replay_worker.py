"""What a replay worker measures: the same code for every library, in its own environment.

A side says how to make a full buffer; `main` measures it and prints one line of JSON.
Imported in every peer's environment: numpy and gymnasium only.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks import workload
from benchmarks.measure import Measurement, median_seconds, print_result, resident_bytes

BATCH_SIZES = (256, 2048)
N_ENVS = (1, 8)
PLAIN_N_ENVS = (8,)  # the number of environments hardly changes plain sampling
MEMORY_TRANSITIONS, MEMORY_N_ENVS = 1_000_000, 8


class FullBuffer(NamedTuple):
    """A buffer filled to its capacity."""

    sample: Callable[[int], object]
    """Draw a batch of this size."""
    adder: Callable[[workload.Episode], Callable[[], None]]
    """Of an episode, the call that adds its vector steps, all arguments being ready."""
    array_bytes: int
    """Bytes of its arrays; what Python objects take besides shows in the resident set only."""
    transitions: int
    """Transitions that can be sampled."""


class MakeFullBuffer(Protocol):
    """A side: makes a buffer of this capacity and fills it with FetchPush-shaped episodes."""

    def __call__(
        self, transitions: int, n_envs: int, *, hindsight: bool, dtype: workload.Float
    ) -> FullBuffer: ...


def measure_times(
    full_buffer: MakeFullBuffer, transitions: int, n_envs: int, *, hindsight: bool, calls: int
) -> list[Measurement]:
    """Median seconds of `sample` for each batch size and of one vector step's `add`."""
    buffer = full_buffer(transitions, n_envs, hindsight=hindsight, dtype=np.float64)
    kind = "hindsight" if hindsight else "plain"
    seconds = {
        f"sample {size}, {kind}": median_seconds(partial(buffer.sample, size), calls=calls)
        for size in BATCH_SIZES
    }
    episode = workload.make_episode(np.random.default_rng(1), n_envs)
    # Whole episodes, since the last step of one costs more; at least 20 of them.
    add = median_seconds(
        buffer.adder(episode), calls=max(20, calls // workload.EPISODE_STEPS), warm_up=3
    )
    seconds[f"add one vector step, {kind}"] = add / workload.EPISODE_STEPS
    return [Measurement(what, transitions, n_envs, value) for what, value in seconds.items()]


def measure_memory(full_buffer: MakeFullBuffer, dtype: workload.Float) -> list[Measurement]:
    """Bytes per transition of a full hindsight buffer: its arrays, and the process's growth."""
    transitions, n_envs = MEMORY_TRANSITIONS, MEMORY_N_ENVS
    # A small buffer first: imports, compiled code and caches are no part of the growth.
    small = full_buffer(8000, n_envs, hindsight=True, dtype=dtype)
    small.adder(workload.make_episode(np.random.default_rng(1), n_envs))()
    small.sample(256)
    before = resident_bytes()
    buffer = full_buffer(transitions, n_envs, hindsight=True, dtype=dtype)
    growth = resident_bytes() - before
    spaces = f"{np.dtype(dtype).name} spaces"
    found = {"arrays": buffer.array_bytes, "resident set": growth}
    return [
        Measurement(
            f"bytes per transition, {part}, {spaces}",
            transitions,
            n_envs,
            size / buffer.transitions,
        )
        for part, size in found.items()
    ]


def main(full_buffer: MakeFullBuffer, packages: Sequence[str]) -> None:
    """The worker's command line.

    Args:
        full_buffer: the side to measure.
        packages: those whose versions belong to the result.
    """
    parser = argparse.ArgumentParser(description="Measure one library's replay buffer.")
    commands = parser.add_subparsers(dest="command", required=True)
    times = commands.add_parser("times")
    times.add_argument("--transitions", type=int, required=True)
    times.add_argument("--calls", type=int, default=500)
    memory = commands.add_parser("memory")
    memory.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    arguments = parser.parse_args()
    if arguments.command == "memory":
        dtype = np.float64 if arguments.dtype == "float64" else np.float32
        measurements = measure_memory(full_buffer, dtype)
    else:
        cases = [(True, n_envs) for n_envs in N_ENVS] + [(False, n_envs) for n_envs in PLAIN_N_ENVS]
        size, calls = arguments.transitions, arguments.calls
        measurements = [
            measurement
            for hindsight, n_envs in cases
            for measurement in measure_times(
                full_buffer, size, n_envs, hindsight=hindsight, calls=calls
            )
        ]
    print_result(measurements, packages)
