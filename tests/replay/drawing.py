"""Chi-squared tests at a level of 1e-4 with fixed seeds, so they never flicker.

Each sample must also be large enough to refuse the same expectation with every other probability a
tenth too large and the rest a tenth too small: a test that cannot fail is a defect.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats
from tests.reference.goals import Source, goals, shares
from tests.reference.replay import ReferenceReplay
from tests.replay.filling import desired_goals
from tests.replay.histories import LanePlan, Plan

from woodshed.replay import Batch, SequenceBatch

LEVEL = 1e-4

# 12 rows a lane, after many wraps: lane 0 has short episodes, some of one step; lane 1 is slower,
# ends on an open episode and keeps a part of an older one; lane 2 has one long episode, open, its
# first rows overwritten; lane 3 took three steps only.
HISTORY = Plan(
    kind="goal",
    lanes=(
        LanePlan(((3, "terminated"), (1, "truncated"), (4, "cut")), (True,)),
        LanePlan(((6, "truncated"), (9, "both")), (True, True, False)),
        LanePlan(((30, "terminated"),), (True, False)),
        LanePlan(((9, "terminated"),), (True, *[False] * 19)),
    ),
    vector_steps=51,
    cut_all_after=None,
    goal_moves=False,
    with_info=False,
    capacity=44,
    n_step=1,
    gamma=0.99,
    k=1e9,
    with_compute_terminated=False,
    sample_every=1,
    batch_sizes=(1,),
    seed=20240607,
)


def p_value(drawn: Sequence[Any], expected: Mapping[Any, Any]) -> float:
    counts = Counter(drawn)
    assert counts.keys() <= expected.keys(), f"drawn: {counts.keys() - expected.keys()}"
    assert sum(expected.values()) == pytest.approx(1)
    sizes = [float(expected[cell]) * len(drawn) for cell in expected]
    assert min(sizes) > 5, "too few draws for this many cells"
    return float(stats.chisquare([counts[cell] for cell in expected], sizes).pvalue)


def assert_drawn_from(expected: Mapping[Any, Any], drawn: Sequence[Any]) -> None:
    assert p_value(drawn, expected) > LEVEL
    tilted = {
        cell: float(p) * (0.9 if i % 2 else 1.1) for i, (cell, p) in enumerate(expected.items())
    }
    total = sum(tilted.values())
    assert p_value(drawn, {cell: p / total for cell, p in tilted.items()}) < LEVEL


def handles(batch: Batch | SequenceBatch) -> list[int]:
    return [int(handle) for handle in batch.handle]


def uniform(cells: Sequence[Any]) -> dict[Any, Fraction]:
    return dict.fromkeys(cells, Fraction(1, len(cells)))


KEPT = b""
"""Stands for the goal of what is not relabelled."""


def expected_goals(
    reference: ReferenceReplay, source: Source, k: float = HISTORY.k
) -> dict[tuple[int, bytes], Fraction]:
    """Probability of (start row, goal) together."""
    places = reference.by_handle()
    kept = shares(source, k).get("original", Fraction(0))
    expected: dict[tuple[int, bytes], Fraction] = {}
    for handle, place in places.items():
        if kept > 1e-6:
            expected[handle, KEPT] = kept / len(places)
        for goal in goals(reference, place, source):
            cell = handle, goal.value.tobytes()
            share = goal.probability * (1 - kept) / len(places)
            expected[cell] = expected.get(cell, Fraction(0)) + share
    return expected


def drawn_goals(batch: Batch | SequenceBatch) -> list[tuple[int, bytes]]:
    """(start row, goal) of each row of a batch; of sequences the goal at their first time index."""
    drawn = desired_goals(batch)
    drawn = drawn[:, 0] if isinstance(batch, SequenceBatch) else drawn
    return [
        (handle, goal.tobytes() if relabelled else KEPT)
        for handle, goal, relabelled in zip(handles(batch), drawn, batch.relabelled, strict=True)
    ]
