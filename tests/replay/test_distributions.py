"""What is drawn at random is drawn with the probabilities of the definitions."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.replay.drawing import (
    HISTORY,
    assert_drawn_from,
    drawn_goals,
    expected_goals,
    handles,
    uniform,
)
from tests.replay.filling import desired_goals, fill
from tests.replay.histories import LanePlan, Strategy


def test_the_history_is_as_its_comment_says() -> None:
    _, reference, _ = fill(HISTORY, None)
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
    buffer, reference, _ = fill(HISTORY, strategy)
    drawn = handles(buffer.sample(60_000))
    assert_drawn_from(uniform(list(reference.by_handle())), drawn)


def test_batches_of_one_are_uniform_too() -> None:
    buffer, reference, _ = fill(HISTORY, None)
    drawn = [handles(buffer.sample(1))[0] for _ in range(15_000)]
    assert_drawn_from(uniform(list(reference.by_handle())), drawn)


def test_rows_of_one_batch_are_independent() -> None:
    buffer, reference, _ = fill(HISTORY, None)
    batch = handles(buffer.sample(150_000))
    cells = [(first, second) for first in reference.by_handle() for second in reference.by_handle()]
    pairs = list(zip(batch[::2], batch[1::2], strict=True))
    assert_drawn_from(uniform(cells), pairs)


def test_n_is_uniform_over_the_closed_range_and_cut_off_by_the_episode() -> None:
    buffer, reference, _ = fill(replace(HISTORY, n_step=(2, 5)), None)
    places = reference.by_handle()
    expected: Counter[tuple[int, int]] = Counter()
    for handle, place in places.items():
        for n in (2, 3, 4, 5):
            steps = min(n, place.episode.last - place.number)
            expected[handle, steps] += Fraction(1, 4 * len(places))  # type: ignore[assignment]
    batch = buffer.sample(100_000)
    drawn = list(zip(handles(batch), batch.steps.tolist(), strict=True))
    assert_drawn_from(expected, drawn)


@pytest.mark.parametrize("n_step", [1, (1, 5)])
@pytest.mark.parametrize("strategy", ["future", "geometric", "final", "episode", "random"])
def test_goals_are_drawn_as_the_strategy_says(
    strategy: Strategy, n_step: int | tuple[int, int]
) -> None:
    buffer, reference, _ = fill(
        replace(HISTORY, n_step=n_step, with_compute_terminated=n_step != 1), strategy
    )
    batch = buffer.sample(100_000)
    assert batch.relabelled.all()
    assert_drawn_from(expected_goals(reference, strategy), drawn_goals(batch))


@pytest.mark.parametrize("k", [0.5, 1, 4])
def test_share_of_relabelled_windows(k: float) -> None:
    buffer, reference, _ = fill(replace(HISTORY, k=k), "future")
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
    buffer, _, _ = fill(plan, "future")
    batch = buffer.sample(200_000)
    first = batch.handle == 0
    steps, relabelled = batch.steps[first], batch.relabelled[first]
    goal = np.where(relabelled, desired_goals(batch)[first, 2], 0).astype(int)
    drawn = list(zip(steps.tolist(), goal.tolist(), strict=True))
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    original = {(n, 0): fifth * half for n in range(1, 6)}
    goals_of = {(n, j): fifth * half / 9 for n in range(1, 6) for j in range(1, 10)}
    assert_drawn_from(original | goals_of, drawn)
