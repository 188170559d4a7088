"""What a worker of the kinds of sampling measures: the same for every library.

A side has a function for each kind that it can do, which makes a full buffer; `main` measures one
of them and prints one line of JSON.
Imported in every peer's environment: numpy and gymnasium only.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import Measurement, median_seconds, print_result
from benchmarks.workload import Array

SMALL = "rows of 4 numbers"
PLAIN = "rows"
N_STEP = "5-step returns"
HINDSIGHT = "hindsight"
PRIORITISED = "prioritised"
SEQUENCES = "32 sequences of 20 steps"
EVERYTHING = "prioritised 5-step hindsight"
UPDATE = "update of 256 priorities"
"""Measured in the worker of `PRIORITISED`."""

BATCH = 256
SEQUENCE_COUNT, SEQUENCE_STEPS = 32, 20
STEPS = 5
GAMMA = 0.98
ALPHA, BETA = 0.6, 0.4
N_ENVS = 8
WARM_UP = 20
SPREAD = 200
"""Batches that get priorities of their own before a prioritised kind is measured."""
SECONDS = 5.0
"""How long to measure: a slow side gets fewer calls, no less than `FEWEST`."""
FEWEST = 30


class Filled(NamedTuple):
    """A full buffer, ready to be sampled."""

    sample: Callable[[], Any]
    """Draw a batch and make of it what a learner gets."""
    transitions: int
    """What it holds."""
    update: Callable[[Any, Array], object] | None = None
    """Give a batch that was just sampled these priorities, `[BATCH]` float32."""


Makers = Mapping[str, Callable[[int], Filled]]
"""Of each kind that the side can do, what makes the buffer of so many transitions."""


def update_seconds(filled: Filled, calls: int) -> float:
    """Median seconds of an update of the priorities of the batch sampled just before.

    Raises:
        ValueError: when the side has no priorities.
    """
    if filled.update is None:
        raise ValueError("no priorities to update")
    rng = np.random.default_rng(2)
    seconds = []
    for _ in range(calls):
        batch, priorities = filled.sample(), rng.random(BATCH, np.float32)
        start = time.perf_counter()
        filled.update(batch, priorities)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[min(WARM_UP, calls // 2) :])


def measure(make: Callable[[int], Filled], kind: str, size: int, calls: int) -> list[Measurement]:
    """Median seconds of a sample of this kind and, for prioritised rows, of an update."""
    filled = make(size)
    found = {}
    once = median_seconds(filled.sample, calls=3, warm_up=1)
    calls = min(calls, max(FEWEST, int(SECONDS / once)))
    if filled.update is not None:
        update_seconds(filled, min(SPREAD, calls))
    found[kind] = median_seconds(filled.sample, calls=calls, warm_up=WARM_UP)
    if kind == PRIORITISED:
        found[UPDATE] = update_seconds(filled, calls)
    return [
        Measurement(what, filled.transitions, N_ENVS, seconds) for what, seconds in found.items()
    ]


def main(makers: Makers, packages: Sequence[str]) -> None:
    """The worker's command line.

    Args:
        makers: of the side to measure.
        packages: those whose versions belong to the result.
    """
    parser = argparse.ArgumentParser(description="Measure one kind of sampling of one library.")
    parser.add_argument("--kind", choices=list(makers), required=True)
    parser.add_argument("--transitions", type=int, required=True)
    parser.add_argument("--calls", type=int, default=300)
    arguments = parser.parse_args()
    kind = arguments.kind
    print_result(measure(makers[kind], kind, arguments.transitions, arguments.calls), packages)
