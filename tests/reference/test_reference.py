"""The reference itself, against cases worked out by hand."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference.episodes import stored_episodes
from tests.reference.frames import Frames
from tests.reference.goals import goals
from tests.reference.priorities import ReferencePriorities
from tests.reference.replay import ReferenceReplay
from tests.reference.sequences import observed_rows, sequence_mask
from tests.reference.windows import original_window, relabelled_window


def write(replay: ReferenceReplay, rewards: list[float], end: str, start: float = 0.0) -> None:
    """One episode in lane 0: achieved goals start, start + 1, ...; the desired goal is -1."""

    def look(step: int) -> dict[str, NDArray[Any]]:
        here, goal = np.array([[start + step]]), np.array([[-1.0]])
        return {"inner": here, "achieved_goal": here, "desired_goal": goal}

    for step, reward in enumerate(rewards):
        last = step + 1 == len(rewards)
        done = {name: [last and end == name] for name in ("terminated", "truncated")}
        action = np.array([[start + step]])
        info = {"shift": np.array([10.0 * step])}
        replay.add(look(step), action, [reward], next_observation=look(step + 1), info=info, **done)
    if end == "cut":
        replay.cut()


def reached(achieved: Any, desired: Any, info: Mapping[str, Any]) -> Any:
    return np.abs(achieved - desired)[:, 0] < 0.5


def shifted(achieved: Any, desired: Any, info: Mapping[str, Any]) -> Any:
    return achieved[:, 0] - desired[:, 0] + info["shift"]


def goal_values(replay: ReferenceReplay, handle: int, strategy: str) -> dict[float, Fraction]:
    drawn = goals(replay, replay.by_handle()[handle], strategy)
    return {float(goal.value[0]): goal.probability for goal in drawn}


def test_a_ring_of_five_rows_keeps_the_newest_five() -> None:
    replay = ReferenceReplay(capacity=4, n_envs=1)
    write(replay, [1.0, 2.0, 3.0], "terminated")  # rows 0 1 2 3
    assert replay.rows_per_lane == 5
    assert list(replay.by_handle()) == [0, 1, 2]
    write(replay, [4.0, 5.0], "open", start=10.0)  # rows 4 5 6, so 2 3 4 5 6 are left
    assert list(replay.by_handle()) == [2, 4, 5]


def test_handles_of_two_lanes_interleave() -> None:
    replay = ReferenceReplay(capacity=5, n_envs=2)
    assert replay.rows_per_lane == 4
    observation = np.zeros((2, 1))
    for _ in range(2):
        replay.add(observation, observation, [0, 0], [0, 0], [0, 0], observation)
    replay.add(observation, observation, [0, 0], [0, 0], [0, 0], observation, mask=[False, True])
    assert sorted(replay.by_handle()) == [0, 1, 2, 3, 5]  # lane 0: rows 0 1; lane 1: rows 0 1 2
    replay.cut()
    replay.cut()
    assert len(replay) == 5


@pytest.mark.parametrize(
    ("end", "discount"), [("terminated", 0.0), ("truncated", 0.25), ("cut", 0.25), ("open", 0.25)]
)
def test_a_window_is_shorter_at_the_end(end: str, discount: float) -> None:
    replay = ReferenceReplay(capacity=10, n_envs=1)
    write(replay, [1.0, 2.0, 4.0], end)
    window = original_window(replay.by_handle()[1], n=5, gamma=0.5)
    assert (window.reward, window.discount, window.steps) == (2.0 + 0.5 * 4.0, discount, 2)
    assert isinstance(window.next_observation, dict)
    assert window.next_observation["achieved_goal"] == 3.0
    assert original_window(replay.by_handle()[0], n=2, gamma=0.5)[2:5] == (2.0, 0.25, 2)


def test_goals_of_each_strategy_in_a_partly_overwritten_episode() -> None:
    replay = ReferenceReplay(capacity=6, n_envs=1)
    write(replay, [0.0] * 4, "truncated")  # rows 0..4 achieve 0..4
    write(replay, [0.0] * 2, "open", start=10.0)  # rows 5 6 7 achieve 10 11 12; row 0 is gone
    third, half, fifth = Fraction(1, 3), Fraction(1, 2), Fraction(1, 5)
    assert goal_values(replay, 1, "future") == {2.0: third, 3.0: third, 4.0: third}
    assert goal_values(replay, 3, "future") == {4.0: 1}
    assert goal_values(replay, 2, "final") == {4.0: 1}
    assert goal_values(replay, 3, "episode") == {2.0: third, 3.0: third, 4.0: third}
    assert goal_values(replay, 5, "episode") == {11.0: half, 12.0: half}
    assert goal_values(replay, 5, "random") == dict.fromkeys((2.0, 3.0, 4.0, 11.0, 12.0), fifth)


def test_a_relabelled_window_stops_at_its_goal() -> None:
    replay = ReferenceReplay(capacity=9, n_envs=1)
    write(replay, [100.0] * 4, "terminated")
    place = replay.by_handle()[0]
    window = relabelled_window(place, 4, 0.5, np.array([2.0]), shifted, reached)
    # achieved 1 then 2, less the goal 2; the info of the steps taken is 0 then 10
    assert (window.reward, window.discount, window.steps) == (-1.0 + 0.5 * 10.0, 0.0, 2)
    for observation, here in ((window.observation, 0.0), (window.next_observation, 2.0)):
        assert observation == {"inner": here, "achieved_goal": here, "desired_goal": 2.0}


def test_stored_termination_counts_only_without_compute_terminated() -> None:
    replay = ReferenceReplay(capacity=9, n_envs=1)
    write(replay, [0.0] * 2, "terminated")
    place = replay.by_handle()[1]
    goal = np.array([9.0])
    assert relabelled_window(place, 3, 0.5, goal, shifted, reached).discount == 0.5
    assert relabelled_window(place, 3, 0.5, goal, shifted).discount == 0.0


def test_geometric_goals_halve_with_each_step() -> None:
    replay = ReferenceReplay(capacity=9, n_envs=1)
    write(replay, [0.0] * 4, "truncated")
    drawn = goals(replay, replay.by_handle()[1], "geometric", Fraction(1, 2))
    assert [(goal.number, goal.probability) for goal in drawn] == [
        (2, Fraction(4, 7)),
        (3, Fraction(2, 7)),
        (4, Fraction(1, 7)),
    ]


def test_goals_of_a_mixture_are_those_of_its_parts() -> None:
    replay = ReferenceReplay(capacity=9, n_envs=1)
    write(replay, [0.0] * 3, "truncated")
    mixture = {"original": 0.2, "future": 0.6, "final": 0.2, "random": 0.0}
    drawn = goals(replay, replay.by_handle()[1], mixture)
    assert [(goal.number, goal.probability) for goal in drawn] == [
        (2, Fraction(3, 8)),
        (3, Fraction(3, 8)),
        (3, Fraction(1, 4)),
    ]


def test_priorities_of_new_and_overwritten_rows() -> None:
    replay = ReferenceReplay(capacity=3, n_envs=1)
    priorities = ReferencePriorities(replay, alpha=2.0, beta=0.0, beta_end=1.0, beta_steps=6)
    write(replay, [0.0] * 3, "truncated")  # rows 0..3
    priorities.follow()
    assert priorities.priority == {0: 1.0, 1: 1.0, 2: 1.0}
    assert priorities.update([0, 1, 2, 1], [1.0, 7.0, 3.0, 0.0]) == 0
    assert priorities.chances() == {0: 0.1, 2: 0.9}
    assert priorities.beta() == 0.5
    assert priorities.weights([0, 2]) == pytest.approx([1.0, 1 / 3])
    write(replay, [0.0], "truncated")  # rows 4 5; 2 3 4 5 are left
    priorities.follow()
    assert priorities.priority == {2: 3.0, 4: 7.0}
    assert priorities.update([1, 2], [9.0, 5.0]) == priorities.stale == 1
    assert (priorities.priority[2], priorities.largest) == (5.0, 9.0)


def test_which_steps_a_sequence_has() -> None:
    replay = ReferenceReplay(capacity=6, n_envs=1)
    write(replay, [0.0] * 4, "truncated")  # rows 0..4 achieve 0..4
    write(replay, [0.0] * 2, "open", start=10.0)  # rows 5 6 7; row 0 is gone
    place = replay.by_handle()[2]
    assert sequence_mask(place, length=3, burn_in=2) == [False, True, True, True, False]
    assert observed_rows(place, length=3, burn_in=2, n_high=2) == [1, 1, 2, 3, 4, 4, 4]
    goal = np.array([3.0])  # reached by the picked row's own step
    assert sequence_mask(place, 3, 1, goal, reached) == [True, True, False, False]
    goal = np.array([2.0])  # reached before the picked row only
    assert sequence_mask(place, 3, 1, goal, reached) == [True, True, True, False]
    assert sequence_mask(replay.by_handle()[6], 2, 1) == [True, True, False]


def test_what_is_left_of_the_episodes() -> None:
    replay = ReferenceReplay(capacity=6, n_envs=1)
    write(replay, [1.0], "terminated")  # rows 0 1
    write(replay, [1.0, 2.0, 3.0], "cut", start=5.0)  # rows 2 3 4 5
    write(replay, [4.0, 5.0], "open", start=20.0)  # rows 6 7 8; the oldest is 2
    write(replay, [6.0], "open", start=22.0)  # row 9; the oldest is 3
    first, second = stored_episodes(replay)
    assert (first.ending, first.reward.tolist()) == ("cut", [2.0, 3.0])
    assert isinstance(first.observation, dict)
    assert first.observation["achieved_goal"].tolist() == [[6.0], [7.0], [8.0]]  # type: ignore[union-attr]
    assert first.action.tolist() == [[6.0], [7.0]]
    assert first.info["shift"].tolist() == [10.0, 20.0]
    assert (second.ending, second.reward.tolist()) == ("open", [4.0, 5.0, 6.0])


def test_an_episode_of_which_the_last_row_only_is_left_is_none() -> None:
    replay = ReferenceReplay(capacity=3, n_envs=1)
    write(replay, [1.0], "terminated")  # rows 0 1
    write(replay, [1.0, 1.0], "truncated", start=5.0)  # rows 2 3 4: row 1 is left
    replay.cut()
    assert [episode.ending for episode in stored_episodes(replay)] == ["truncated"]


@pytest.mark.parametrize("zero", [False, True])
def test_frames_of_a_row(zero: bool) -> None:
    replay = ReferenceReplay(capacity=7, n_envs=1, frames=Frames(3, zero))
    write(replay, [0.0] * 4, "truncated", start=3.0)  # rows 0..4

    def frames(handle: int, number: int) -> Any:
        place = replay.by_handle()[handle]
        observation: Any = place.observation(number)
        assert observation["achieved_goal"].shape == (1,)
        return observation["inner"].tolist()

    before = [0.0] if zero else [3.0]
    assert frames(0, 0) == [before, before, [3.0]]
    assert frames(0, 1) == [before, [3.0], [4.0]]
    assert frames(1, 4) == [[5.0], [6.0], [7.0]]
    write(replay, [0.0] * 3, "truncated", start=20.0)  # rows 5..8: 1..8 are left
    assert list(replay.by_handle()) == [3, 5, 6, 7]
    assert len(replay) == 4
    place = replay.by_handle()[3]
    assert (place.oldest, place.whole) == (1, 3)
    assert goal_values(replay, 3, "episode") == dict.fromkeys((5.0, 6.0, 7.0), Fraction(1, 3))
    assert goal_values(replay, 3, "random").keys() == {7.0, 21.0, 22.0, 23.0}
    assert sequence_mask(place, length=1, burn_in=1) == [False, True]
    assert frames(5, 5) == ([[0.0], [0.0], [20.0]] if zero else [[20.0]] * 3)
    observation: Any = stored_episodes(replay)[0].observation
    assert observation["achieved_goal"].tolist() == [[6.0], [7.0]]
