"""Woodshed beside other libraries: `python -m benchmarks.run` measures and writes the tables."""

import argparse
import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import kinds, machine, replay, train, workers
from benchmarks.collection import Collection
from benchmarks.peers import ROOT, SB3, WOODSHED
from benchmarks.table import Row, markdown_table

RESULTS = ROOT / "benchmarks" / "results"
PARTS = ("replay", "train", "workers", "kinds")
BUSY = 0.5
"""A load from which the numbers are worth little on a machine of few cores."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="alternating runs of each side")
    parser.add_argument("--only", choices=PARTS, help="one part of the comparison")
    parser.add_argument(
        "--transitions",
        type=int,
        nargs="+",
        default=list(replay.TRANSITIONS),
        help="sizes of the replay buffers, the smallest first; multiples of 400",
    )
    parser.add_argument("--calls", type=int, default=300, help="timed calls of each sampling")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def measure(arguments: argparse.Namespace) -> tuple[Collection, list[Row]]:
    """Run all that was asked for."""
    collection, rows = Collection(), list[Row]()
    parts = (arguments.only,) if arguments.only else PARTS
    collection.prepare(kinds.PEERS if "kinds" in parts else [WOODSHED, SB3])
    if "replay" in parts:
        collection.run(replay.memory_jobs(), rounds=1)
        collection.run(replay.time_jobs(arguments.transitions, arguments.calls), arguments.rounds)
        rows += replay.rows(arguments.transitions)
    if "train" in parts:
        collection.run([*train.compare_jobs(), *train.hindsight_jobs()], arguments.rounds)
        rows += train.rows()
    if "workers" in parts:
        collection.run(workers.jobs(), arguments.rounds)
        rows += workers.rows()
    if "kinds" in parts:
        collection.run(kinds.jobs(arguments.transitions, arguments.calls), arguments.rounds)
        rows += kinds.rows(arguments.transitions)
    return collection, rows


def report(
    facts: dict[str, str], collection: Collection, rows: Sequence[Row], sections: Sequence[str]
) -> str:
    """The Markdown page: one table for most, and the sections that have their own."""
    lines = ["# Woodshed beside other libraries", ""]
    lines += ["Written by `make bench`; [what is measured](../README.md).", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    for side, versions in collection.versions.items():
        lines.append(f"- {side}: " + ", ".join(f"{n} {v}" for n, v in versions.items()))
    lines += [f"- **FAILED** {failure}" for failure in collection.failures]
    return "\n".join([*lines, "", markdown_table(rows, collection), *sections])


def main() -> None:
    arguments = parse_arguments()
    start, load_before = time.perf_counter(), machine.load()
    if load_before > BUSY:
        print(f"the machine is busy (load {load_before:.1f}): expect poor numbers", flush=True)
    collection, rows = measure(arguments)
    facts = machine.describe() | {
        "load before": f"{load_before:.2f}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "rounds": str(arguments.rounds),
        "minutes": f"{(time.perf_counter() - start) / 60:.1f}",
    }
    own = (
        [kinds.table(collection, arguments.transitions)]
        if arguments.only in (None, "kinds")
        else []
    )
    page = report(facts, collection, rows, own)
    arguments.out.mkdir(parents=True, exist_ok=True)
    data = {"facts": facts, **collection.as_data()}
    (arguments.out / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    (arguments.out / "results.md").write_text(page)
    print("\n" + page)


if __name__ == "__main__":
    main()
