"""The buffer with hindsight: relabelled windows with literal numbers."""

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.replay.filling import desired_goals
from tests.replay.histories import Strategy
from tests.replay.line import (
    GOAL_POSITION,
    POSITION,
    at_goal,
    minus_one_away,
    one_at_goal,
    rows,
    write_episode,
)

from woodshed.errors import WoodshedError
from woodshed.replay import Hindsight, ReplayBuffer

ALWAYS = 1e9
"""A k for which every window is relabelled."""


def make(
    strategy: Strategy = "future",
    k: float = ALWAYS,
    compute_reward: Any = minus_one_away,
    compute_terminated: Any = None,
    **options: Any,
) -> ReplayBuffer:
    hindsight = Hindsight(
        strategy, k=k, compute_reward=compute_reward, compute_terminated=compute_terminated
    )
    return ReplayBuffer(GOAL_POSITION, POSITION, 100, hindsight=hindsight, **options)


def test_three_steps_with_the_final_goal() -> None:
    buffer = make("final", n_step=3, gamma=0.9)
    write_episode(buffer, [0, 1, 2, 3], [-1.0] * 3, "truncated", goal=50)
    assert rows(buffer) == {
        (0, 3, 3): (-1.9, 0.729, 3),
        (1, 3, 2): (-1.0, 0.81, 3),
        (2, 3, 1): (0.0, 0.9, 3),
    }


def test_three_steps_with_future_goals() -> None:
    buffer = make("future", n_step=3, gamma=0.9)
    write_episode(buffer, [0, 1, 2, 3], [-1.0] * 3, "truncated", goal=50)
    assert rows(buffer) == {
        (0, 1, 3): (-1.71, 0.729, 3),  # 0 - 0.9 - 0.81: at the goal first, then away from it
        (0, 2, 3): (-1.81, 0.729, 3),
        (0, 3, 3): (-1.9, 0.729, 3),
        (1, 2, 2): (-0.9, 0.81, 3),
        (1, 3, 2): (-1.0, 0.81, 3),
        (2, 3, 1): (0.0, 0.9, 3),
    }


def test_a_relabelled_window_stops_where_it_terminates() -> None:
    buffer = make("future", n_step=3, gamma=0.9, compute_terminated=at_goal)
    write_episode(buffer, [0, 1, 2, 3], [-1.0] * 3, "truncated", goal=50)
    assert rows(buffer) == {
        (0, 1, 1): (0.0, 0.0, 1),
        (0, 2, 2): (-1.0, 0.0, 2),
        (0, 3, 3): (-1.9, 0.0, 3),
        (1, 2, 1): (0.0, 0.0, 2),
        (1, 3, 2): (-1.0, 0.0, 3),
        (2, 3, 1): (0.0, 0.0, 3),
    }


def test_stored_termination_stands_where_there_is_no_compute_terminated() -> None:
    buffer = make("final", n_step=2, gamma=0.9)
    write_episode(buffer, [0, 1, 2], [-1.0] * 2, "terminated", goal=2)
    assert rows(buffer) == {(0, 2, 2): (-1.0, 0.0, 2), (1, 2, 1): (0.0, 0.0, 2)}


def test_stored_termination_is_forgotten_where_compute_terminated_says_no() -> None:
    buffer = make("final", n_step=2, gamma=0.9, compute_terminated=lambda a, d, i: a[..., 0] > 90)
    write_episode(buffer, [0, 1, 2], [-1.0] * 2, "terminated", goal=2)
    assert rows(buffer) == {(0, 2, 2): (-1.0, 0.81, 2), (1, 2, 1): (0.0, 0.9, 2)}


def test_original_windows_keep_their_rewards_and_goal() -> None:
    buffer = make("final", k=1, n_step=2, gamma=0.5, compute_terminated=at_goal)
    write_episode(buffer, [0, 1, 2], [8.0, 16.0], "truncated", goal=50)
    assert rows(buffer) == {
        (0, 50, 2): (16.0, 0.25, 2),
        (1, 50, 1): (16.0, 0.5, 2),
        (0, 2, 2): (-1.0, 0.0, 2),
        (1, 2, 1): (0.0, 0.0, 2),
    }


def achieved_goals(observation: Any) -> list[float]:
    return [float(goal[0]) for goal in observation["achieved_goal"]]


def test_values_of_reaching_a_goal_once_stay_at_most_one() -> None:
    """Reward 1 and termination at the goal, 0.95 a step: no value is ever above 1.

    The episode stays at its last place, so that targets which bootstrap there would grow to 20.
    """
    buffer = make("future", compute_reward=one_at_goal, compute_terminated=at_goal, gamma=0.95)
    write_episode(buffer, [0, 1, 2, 2, 2, 2], [0.0] * 5, "truncated", goal=50)
    value: dict[tuple[float, float], float] = {}
    for _ in range(200):
        batch = buffer.sample(32)
        places = zip(
            achieved_goals(batch.observation), achieved_goals(batch.next_observation), strict=True
        )
        for i, (here, there) in enumerate(places):
            goal = float(desired_goals(batch)[i, 0])
            assert there != goal or batch.discount[i] == 0
            later = value.get((there, goal), 0.0)
            value[here, goal] = float(batch.reward[i]) + float(batch.discount[i]) * later
    assert max(value.values()) == 1.0
    assert value[1, 2] == 1.0
    assert value[0, 2] == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("strategy", "goals"),
    [
        ("future", {(0, 5), (10, 15)}),
        ("final", {(0, 5), (10, 15)}),
        ("episode", {(0, 5), (10, 15)}),
        ("random", {(0, 5), (0, 15), (10, 5), (10, 15)}),
    ],
)
def test_episodes_of_one_step(strategy: Strategy, goals: set[tuple[int, int]]) -> None:
    buffer = make(strategy, n_step=3, gamma=0.5)
    write_episode(buffer, [0, 5], [-1.0], "truncated", goal=50)
    write_episode(buffer, [10, 15], [-1.0], "truncated", goal=50)
    assert rows(buffer) == {
        (start, goal, 1): (0.0 if goal == start + 5 else -1.0, 0.5, start + 5)
        for start, goal in goals
    }


def test_a_window_of_an_open_episode_has_what_was_achieved_so_far() -> None:
    buffer = make("final")
    write_episode(buffer, [0, 1, 2], [-1.0] * 2, "open", goal=50)
    assert {key[1] for key in rows(buffer)} == {2}
    write_episode(buffer, [2, 3], [-1.0], "open", goal=50)
    assert {key[1] for key in rows(buffer)} == {3}


def test_each_reward_sees_the_info_of_its_own_step_and_environment() -> None:
    def compute_reward(achieved: Any, desired: Any, info: Any) -> Any:
        return info["tolerance"] + 100 * info["gain"][..., 1]

    columns = {
        "tolerance": spaces.Box(0, 100, (), np.float32),
        "gain": spaces.Box(0, 100, (2,), np.float32),
    }
    buffer = make(
        "final", compute_reward=compute_reward, n_envs=2, n_step=2, gamma=0.5, info_space=columns
    )
    for t in range(2):
        here, there = (np.array([[x], [10.0 + x]], np.float32) for x in (t, t + 1))
        goal = np.full((2, 1), 50, np.float32)
        buffer.add(
            observation={"observation": here, "achieved_goal": here, "desired_goal": goal},
            action=here,
            reward=np.zeros(2),
            terminated=np.zeros(2, bool),
            truncated=np.full(2, t == 1),
            next_observation={"observation": there, "achieved_goal": there, "desired_goal": goal},
            info={
                "tolerance": np.array([1.0 + t, 3.0 + t]),
                "gain": np.array([[9, t], [9, 4 + t]], np.float32),
            },
        )
    assert rows(buffer) == {
        (0, 2, 2): (1 + 0.5 * 102, 0.25, 2),
        (1, 2, 1): (102, 0.5, 2),
        (10, 12, 2): (403 + 0.5 * 504, 0.25, 12),
        (11, 12, 1): (504, 0.5, 12),
    }


def whole_batch_at_once(achieved: Any, desired: Any, info: Any) -> bool:
    """As Gymnasium-Robotics' mazes do: one bool, whatever the batch."""
    return bool(np.linalg.norm(achieved - desired) < 0.5)


def one_row_only(achieved: Any, desired: Any, info: Any) -> float:
    """Raises on a batch."""
    return 0.0 if abs(float(np.reshape(achieved - desired, ()))) < 0.5 else -1.0


@pytest.mark.parametrize("name", ["compute_reward", "compute_terminated"])
def test_functions_of_one_row_are_wrapped_with_one_warning(name: str) -> None:
    scalar = {"compute_reward": one_row_only, "compute_terminated": whole_batch_at_once}[name]
    functions: dict[str, Any] = {"compute_terminated": at_goal, name: scalar}
    with pytest.warns(UserWarning, match=name) as caught:
        buffer = make("future", n_step=3, gamma=0.9, **functions)
    assert len(caught) == 1
    write_episode(buffer, [0, 1, 2], [-1.0] * 2, "truncated", goal=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = rows(buffer)
    assert seen == {
        (0, 1, 1): (0.0, 0.0, 1),
        (0, 2, 2): (-1.0, 0.0, 2),
        (1, 2, 1): (0.0, 0.0, 2),
    }


def test_vectorised_functions_make_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(compute_terminated=at_goal)


def test_a_reward_function_of_wrong_shape_is_refused() -> None:
    with pytest.raises(WoodshedError, match="compute_reward"):
        make(compute_reward=two_values)
    with pytest.raises(WoodshedError, match="compute_terminated"):
        make(compute_terminated=two_values)


def two_values(achieved: Any, desired: Any, info: Any) -> Any:
    return np.zeros((*np.shape(achieved)[:-1], 2))


def test_a_reward_function_that_cannot_run_is_refused() -> None:
    def asks_for_mass(achieved: Any, desired: Any, info: Any) -> Any:
        return info["mass"]

    with pytest.raises(WoodshedError, match=r"compute_reward.*mass"):
        make(compute_reward=asks_for_mass)


def test_the_same_seed_repeats_goals_and_relabelling() -> None:
    first, second = (make("random", k=1, n_step=(1, 3), seed=8) for _ in range(2))
    for buffer in (first, second):
        write_episode(buffer, range(31), [0.0] * 30, "truncated", goal=50)
    for _ in range(3):
        left, right = first.sample(64), second.sample(64)
        np.testing.assert_array_equal(desired_goals(left), desired_goals(right))
        np.testing.assert_array_equal(left.relabelled, right.relabelled)
        np.testing.assert_array_equal(left.reward, right.reward)
