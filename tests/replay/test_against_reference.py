"""Every sampled row of every random history is what the definitions say.

Windows and sequences are drawn in turns, from buffers with every source of goals, both ways to
pick rows, and with and without stacks of frames; with priorities, batches are kept for a while and
then given new ones. The number of histories per run is 2,000, shared by the cases; the environment
variable WOODSHED_EXAMPLES sets another (`WOODSHED_EXAMPLES=50000 pytest tests/replay/...`).
Histories are the same in every run.
"""

from collections import deque
from itertools import product
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from tests.reference.goals import Source
from tests.replay import worlds
from tests.replay.checks import Checker
from tests.replay.filling import Filled, make, scribble, update, write
from tests.replay.histories import Add, Plan, plans, play, search

SOURCES: dict[str, Source | None] = {
    "none": None,
    "future": "future",
    "geometric": "geometric",
    "final": "final",
    "episode": "episode",
    "random": "random",
    "all": {
        "original": 0.2,
        "future": 0.3,
        "geometric": 0.1,
        "final": 0.1,
        "episode": 0.1,
        "random": 0.2,
    },
    "two": {"final": 0.5, "geometric": 0.5, "random": 0.0},
}
CASES = list(product(SOURCES, ("uniform", "prioritised")))
MOST_SEQUENCES = 6
"""A batch of them: the reference takes its time."""


def random_priorities(generator: np.random.Generator, size: int) -> Any:
    """From 0.001 to 1000, and some of 0."""
    return 10 ** generator.uniform(-3, 3, size) * (generator.random(size) > 0.1)


def sample_and_check(
    filled: Filled, plan: Plan, source: Source | None, outstanding: deque[Any]
) -> None:
    checker = Checker(filled, plan, source)
    priorities = filled.priorities
    if priorities is not None and not priorities.chances():
        return  # all of priority 0
    for size in (*plan.batch_sizes, min(len(checker.places) + 1, 24)):
        batch = filled.buffer.sample(size)
        checker.check_batch(batch, size)
        size = min(size, MOST_SEQUENCES)
        sequences = filled.buffer.sample_sequences(size, plan.length, plan.burn_in)
        checker.check_sequences(sequences, size)
        outstanding.extend((batch.handle.copy(), sequences.handle.copy()))
        scribble(batch)
        scribble(sequences)


def check_history(plan: Plan, source: Source | None) -> None:
    filled = make(plan, source)
    generator = np.random.default_rng(plan.seed)
    outstanding: deque[Any] = deque()
    assert filled.buffer.rows_per_lane == filled.reference.rows_per_lane
    for t, call in enumerate(play(plan)):
        write(call, filled)
        if isinstance(call, Add):
            scribble(call)
        assert len(filled.buffer) == len(filled.reference)
        if t % plan.sample_every == 0 and len(filled.reference) > 0:
            sample_and_check(filled, plan, source, outstanding)
        while filled.priorities is not None and len(outstanding) > 5:
            handle = outstanding.popleft()
            update(filled, handle, random_priorities(generator, handle.size))


@pytest.mark.parametrize(("name", "picker"), CASES)
def test_sampled_rows_are_what_the_definitions_say(name: str, picker: str) -> None:
    source = SOURCES[name]
    kinds = worlds.GOAL_KINDS if source else (*worlds.GOAL_KINDS, "flat", "discrete")

    @hypothesis.seed(CASES.index((name, picker)))  # other histories for each case
    @search(len(CASES))
    @given(plans(kinds, hindsight=source is not None, prioritised=picker == "prioritised"))
    def check(plan: Plan) -> None:
        check_history(plan, source)

    check()
