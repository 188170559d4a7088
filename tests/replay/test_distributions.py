"""What is drawn at random is drawn with the probabilities of the definitions.

Chi-squared tests at a level of 1e-4 with fixed seeds, so they never flicker. Each sample must also
be large enough to refuse the same expectation with every other probability a tenth too large and
the rest a tenth too small: a test that cannot fail is a defect.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.reference.replay import ReferenceReplay
from tests.reference.windows import goals
from tests.replay.filling import desired_goals, fill
from tests.replay.histories import LanePlan, Plan, Strategy

from woodshed.replay import Batch

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


def assert_drawn_from(expected: Mapping[Any, Fraction], drawn: Sequence[Any]) -> None:
    assert p_value(drawn, expected) > LEVEL
    tilted = {
        cell: float(p) * (0.9 if i % 2 else 1.1) for i, (cell, p) in enumerate(expected.items())
    }
    total = sum(tilted.values())
    assert p_value(drawn, {cell: p / total for cell, p in tilted.items()}) < LEVEL


def handles(batch: Batch) -> list[int]:
    return [int(handle) for handle in batch.handle]


def uniform(cells: Sequence[Any]) -> dict[Any, Fraction]:
    return dict.fromkeys(cells, Fraction(1, len(cells)))


def test_the_history_is_as_its_comment_says() -> None:
    _, reference = fill(HISTORY, None)
    kept = [
        [e for e in lane if e.last >= reference.oldest(i)] for i, lane in enumerate(reference.lanes)
    ]
    assert reference.rows_per_lane == 12
    assert {len(e.rows) for e in kept[0]} >= {2, 4, 5}
    assert kept[1][0].first < reference.oldest(1)
    assert not kept[1][-1].ended
    assert len(kept[2]) == 1
    assert kept[2][0].first < reference.oldest(2)
    assert not kept[2][0].ended
    assert reference.pushed(3) == 4


@pytest.mark.parametrize("strategy", [None, "future"])
def test_every_sampleable_row_is_as_likely(strategy: Strategy | None) -> None:
    buffer, reference = fill(HISTORY, strategy)
    drawn = handles(buffer.sample(60_000))
    assert_drawn_from(uniform(list(reference.by_handle())), drawn)


def test_batches_of_one_are_uniform_too() -> None:
    buffer, reference = fill(HISTORY, None)
    drawn = [handles(buffer.sample(1))[0] for _ in range(15_000)]
    assert_drawn_from(uniform(list(reference.by_handle())), drawn)


def test_rows_of_one_batch_are_independent() -> None:
    buffer, reference = fill(HISTORY, None)
    batch = handles(buffer.sample(150_000))
    cells = [(first, second) for first in reference.by_handle() for second in reference.by_handle()]
    pairs = list(zip(batch[::2], batch[1::2], strict=True))
    assert_drawn_from(uniform(cells), pairs)


def test_n_is_uniform_over_the_closed_range_and_cut_off_by_the_episode() -> None:
    buffer, reference = fill(replace(HISTORY, n_step=(2, 5)), None)
    places = reference.by_handle()
    expected: Counter[tuple[int, int]] = Counter()
    for handle, place in places.items():
        for n in (2, 3, 4, 5):
            steps = min(n, place.episode.last - place.number)
            expected[handle, steps] += Fraction(1, 4 * len(places))  # type: ignore[assignment]
    batch = buffer.sample(100_000)
    drawn = list(zip(handles(batch), batch.steps.tolist(), strict=True))
    assert_drawn_from(expected, drawn)  # type: ignore[arg-type]


def expected_goals(reference: ReferenceReplay, strategy: str) -> dict[tuple[int, bytes], Fraction]:
    """Probability of (start row, goal) together."""
    places = reference.by_handle()
    return {
        (handle, goal.value.tobytes()): goal.probability / len(places)
        for handle, place in places.items()
        for goal in goals(reference, place, strategy)
    }


def drawn_goals(batch: Batch) -> list[tuple[int, bytes]]:
    pairs = zip(handles(batch), desired_goals(batch), strict=True)
    return [(handle, goal.tobytes()) for handle, goal in pairs]


@pytest.mark.parametrize("n_step", [1, (1, 5)])
@pytest.mark.parametrize("strategy", ["future", "final", "episode", "random"])
def test_goals_are_drawn_as_the_strategy_says(
    strategy: Strategy, n_step: int | tuple[int, int]
) -> None:
    buffer, reference = fill(
        replace(HISTORY, n_step=n_step, with_compute_terminated=n_step != 1), strategy
    )
    batch = buffer.sample(100_000)
    assert batch.relabelled.all()
    assert_drawn_from(expected_goals(reference, strategy), drawn_goals(batch))


@pytest.mark.parametrize("k", [0.5, 1, 4])
def test_share_of_relabelled_windows(k: float) -> None:
    buffer, reference = fill(replace(HISTORY, k=k), "future")
    share = Fraction(k) / (Fraction(k) + 1)
    rows = uniform(list(reference.by_handle()))
    batch = buffer.sample(60_000)
    drawn = list(zip(handles(batch), batch.relabelled.tolist(), strict=True))
    cells = {(h, True): p * share for h, p in rows.items()}
    assert_drawn_from(cells | {(h, False): p * (1 - share) for h, p in rows.items()}, drawn)


def test_n_and_relabelling_and_goal_are_independent() -> None:
    """All draws of one batch from one row: the first of an open episode of nine steps."""
    plan = replace(
        HISTORY,
        lanes=(LanePlan(((30, "cut"),), (True,)),),
        vector_steps=9,
        n_step=(1, 5),
        k=1,
    )
    buffer, _ = fill(plan, "future")
    batch = buffer.sample(200_000)
    first = batch.handle == 0
    steps, relabelled = batch.steps[first], batch.relabelled[first]
    goal = np.where(relabelled, desired_goals(batch)[first, 2], 0).astype(int)
    drawn = list(zip(steps.tolist(), goal.tolist(), strict=True))
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    original = {(n, 0): fifth * half for n in range(1, 6)}
    goals_of = {(n, j): fifth * half / 9 for n in range(1, 6) for j in range(1, 10)}
    assert_drawn_from(original | goals_of, drawn)
