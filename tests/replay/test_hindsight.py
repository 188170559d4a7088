"""Mixtures of goals, geometric goals, and settings of hindsight that are refused."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.replay.drawing import HISTORY, assert_drawn_from, drawn_goals, expected_goals, handles
from tests.replay.filling import desired_goals, fill
from tests.replay.histories import LanePlan
from tests.replay.line import (
    GOAL_POSITION,
    POSITION,
    minus_one_away,
    one_at_goal,
    rows,
    write_episode,
)

from woodshed.errors import WoodshedError
from woodshed.replay import Hindsight, ReplayBuffer

MIXTURE = {
    "original": 0.2,
    "future": 0.3,
    "geometric": 0.1,
    "final": 0.1,
    "episode": 0.1,
    "random": 0.2,
}


def make(source: Any, **options: Any) -> ReplayBuffer:
    hindsight = Hindsight(source, compute_reward=minus_one_away, **options)
    return ReplayBuffer(GOAL_POSITION, POSITION, 10_000, gamma=0.5, hindsight=hindsight)


@pytest.mark.parametrize(
    "mixture",
    [
        MIXTURE,
        {"original": 0.5, "final": 0.25, "random": 0.25},
        {"geometric": 0.75, "episode": 0.25, "future": 0.0},
    ],
)
@pytest.mark.parametrize("n_step", [1, (1, 4)])
def test_each_row_gets_each_goal_as_often_as_the_mixture_says(
    mixture: dict[str, float], n_step: int | tuple[int, int]
) -> None:
    """Start row, whether relabelled, and goal together."""
    buffer, reference, _ = fill(replace(HISTORY, n_step=n_step), mixture)
    batch = buffer.sample(150_000)
    assert_drawn_from(expected_goals(reference, mixture), drawn_goals(batch))


def test_shares_of_the_sources_where_each_goal_tells_its_source() -> None:
    """Two lanes of one episode each, windows from the middle of the first.

    Goals before the middle are from `episode`, goals of the other lane from `random`, those after
    the middle from several, but the very last one stands out by `final`.
    """
    lanes = (LanePlan(((20, "truncated"),), (True,)),) * 2
    plan = replace(HISTORY, lanes=lanes, vector_steps=20, capacity=100)
    mixture = {"original": 0.2, "final": 0.3, "episode": 0.3, "random": 0.2}
    buffer, _, _ = fill(plan, mixture)
    batch = buffer.sample(400_000)
    middle = batch.handle == 2 * 10  # row 10 of lane 0
    goal, relabelled = desired_goals(batch)[middle], batch.relabelled[middle]
    lane, row = (goal[:, 0] - 1) // 10, goal[:, 2]
    source = np.select(
        [~relabelled, lane == 1, row == 20, row <= 10],
        ["original", "other lane", "last", "before"],
        "after",
    )
    fifth, tenth = Fraction(1, 5), Fraction(1, 10)
    own = Fraction(3, 10) / 20 + fifth / 40  # of one goal of the own episode
    expected = {
        "original": fifth,
        "other lane": tenth,
        "last": Fraction(3, 10) + own,
        "before": 10 * own,
        "after": 9 * own,
    }
    assert_drawn_from(expected, source.tolist())


@pytest.mark.parametrize("discount", [0.9, 0.5, 0.3])
def test_geometric_goals_by_their_distance(discount: float) -> None:
    buffer = make("geometric", k=1e9, geometric_discount=discount)
    write_episode(buffer, range(7), [0.0] * 6, "truncated", goal=50)
    batch = buffer.sample(300_000)
    first = batch.handle == 0
    distance = desired_goals(batch)[first, 0].astype(int)
    powers = [discount**i for i in range(6)]
    assert_drawn_from(
        {i + 1: power / sum(powers) for i, power in enumerate(powers)}, distance.tolist()
    )


@pytest.mark.parametrize("discount", [1e-12, 0.01, 0.999, 1 - 1e-12])
def test_geometric_goals_stay_in_a_long_episode(discount: float) -> None:
    buffer = make("geometric", k=1e9, geometric_discount=discount)
    write_episode(buffer, range(901), [0.0] * 900, "truncated", goal=950)
    write_episode(buffer, [-50, -40], [0.0], "truncated", goal=950)
    batch = buffer.sample(20_000)
    start, goal = batch.handle, desired_goals(batch)[:, 0]
    inside = start < 900
    assert (goal[inside] > start[inside]).all()
    assert (goal[inside] <= 900).all()
    assert (goal[~inside] == -40).all()
    distance = (goal - start)[inside]
    if discount < 0.1:
        assert (distance == 1).mean() >= 0.98
    elif discount > 0.9999:  # as good as uniform
        left = 900 - start[inside]
        assert abs(((distance - 0.5) / left).mean() - 0.5) < 0.02


def test_a_mixture_without_original_never_leaves_a_goal() -> None:
    buffer, _, _ = fill(HISTORY, {"future": 0.1, "final": 0.2, "random": 0.7})
    for size in (1, 7, 20_000):
        assert buffer.sample(size).relabelled.all()


def test_a_mixture_of_original_alone_leaves_every_goal() -> None:
    buffer, _, _ = fill(HISTORY, {"original": 1.0})
    assert not buffer.sample(5_000).relabelled.any()


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_source_of_share_zero_is_never_used(at: int) -> None:
    """Wherever in the mixture it stands: first, in the middle or last."""
    mixture = [("final", 0.5), ("original", 0.5)]
    mixture.insert(at, ("random", 0.0))
    buffer = make(dict(mixture))
    write_episode(buffer, [0, 5], [7.0], "truncated", goal=50)
    write_episode(buffer, [10, 15], [7.0], "truncated", goal=50)
    assert rows(buffer, 5_000) == {
        (0, 5, 1): (0.0, 0.5, 5),
        (10, 15, 1): (0.0, 0.5, 15),
        (0, 50, 1): (7.0, 0.5, 5),
        (10, 50, 1): (7.0, 0.5, 15),
    }


def test_one_strategy_and_a_mixture_of_it_are_the_same() -> None:
    """k of 4 is a share of 0.8."""
    first, second = make("future"), make({"original": 0.2, "future": 0.8})
    for buffer in (first, second):
        write_episode(buffer, range(31), [0.0] * 30, "truncated", goal=50)
        batch = buffer.sample(20_000)
        assert abs(batch.relabelled.mean() - 0.8) < 0.015
        assert len(set(handles(batch))) == 30


BAD: list[tuple[dict[str, Any], str]] = [
    ({"strategy": {"futur": 1.0}}, "futur"),
    ({"strategy": {"original": 0.5, "none": 0.5}}, "none"),
    ({"strategy": "original"}, "original"),
    ({"strategy": {}}, "sum"),
    ({"strategy": {"future": 0.5, "original": 0.4}}, "sum to 1"),
    ({"strategy": {"future": 0.8, "original": 0.4}}, "sum to 1"),
    ({"strategy": {"future": 1.2, "original": -0.2}}, r"-0\.2"),
    ({"strategy": {"future": float("nan"), "original": 0.5}}, "nan"),
    ({"strategy": {"future": float("inf"), "original": 0.5}}, "inf"),
    ({"strategy": {"future": 1.0}, "k": 4}, r"\bk\b"),
    ({"strategy": {"future": 0.8, "original": 0.2}, "k": 4.0}, r"\bk\b"),
    ({"strategy": "geometric", "geometric_discount": 0.0}, "geometric_discount"),
    ({"strategy": "geometric", "geometric_discount": 1.0}, "geometric_discount"),
    ({"strategy": {"geometric": 1.0}, "geometric_discount": -0.5}, "geometric_discount"),
    ({"strategy": "geometric", "geometric_discount": float("nan")}, "geometric_discount"),
    ({"strategy": "geometric", "geometric_discount": 2.0}, "geometric_discount"),
]


@pytest.mark.parametrize(("options", "names"), BAD)
def test_mixtures_without_a_meaning_are_refused(options: dict[str, Any], names: str) -> None:
    with pytest.raises(WoodshedError, match=names) as error:
        Hindsight(compute_reward=one_at_goal, **options)
    assert "\n" not in str(error.value)


def test_a_mixture_changed_later_changes_nothing() -> None:
    mixture = {"original": 0.0, "final": 1.0}
    hindsight = Hindsight(mixture, compute_reward=minus_one_away)
    buffer = ReplayBuffer(GOAL_POSITION, POSITION, 100, hindsight=hindsight)
    mixture.update(original=1.0, final=0.0)
    write_episode(buffer, [0, 5], [7.0], "truncated", goal=50)
    assert buffer.sample(100).relabelled.all()
