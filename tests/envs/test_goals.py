from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Counting, Wandering

from woodshed.envs import (
    goal_functions,
    has_goals,
    make_environment,
    warn_of_other_rewards,
)
from woodshed.envs.tasks.point_reach import PointReach
from woodshed.errors import WoodshedError

PLANE = spaces.Box(-1, 1, (2,))
needs_robotics = pytest.mark.skipif(
    find_spec("gymnasium_robotics") is None, reason="gymnasium-robotics is not installed"
)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Dict({"achieved_goal": PLANE, "desired_goal": PLANE}), True),
        (spaces.Dict({"a": PLANE, "achieved_goal": PLANE, "desired_goal": PLANE}), True),
        (spaces.Dict({"achieved_goal": PLANE}), False),
        (spaces.Dict({"desired_goal": PLANE}), False),
        (spaces.Dict({"in": spaces.Dict({"achieved_goal": PLANE, "desired_goal": PLANE})}), False),
        (PLANE, False),
    ],
)
def test_has_goals(space: Any, expected: bool) -> None:
    assert has_goals(space) is expected


def test_functions_of_the_environment_under_its_wrappers() -> None:
    env = make_environment("woodshed/PointReach-v0")
    functions = goal_functions(env)
    assert functions.compute_reward == env.unwrapped.compute_reward  # type: ignore[attr-defined]
    assert functions.compute_terminated == env.unwrapped.compute_terminated  # type: ignore[attr-defined]


def test_a_wrapper_that_has_its_own_reward_counts() -> None:
    class Doubled(gymnasium.Wrapper[Any, Any, Any, Any]):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return 2 * self.unwrapped.compute_reward(achieved, desired, info)  # type: ignore[attr-defined]

    functions = goal_functions(Doubled(PointReach()))
    far = np.zeros((1, 2)), np.ones((1, 2))
    assert functions.compute_reward(*far, {}).tolist() == [-2]


def test_without_compute_terminated_the_stored_termination_stands() -> None:
    class Bare(Wandering):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = PointReach().observation_space

        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return achieved - desired

    functions = goal_functions(Bare())
    assert functions.compute_reward(5, 3, {}) == 2
    assert functions.compute_terminated is None


def test_observations_without_goals_are_refused() -> None:
    with pytest.raises(WoodshedError, match=r"but Counting has Box\(.*turn hindsight off"):
        goal_functions(Counting())
    with pytest.raises(WoodshedError, match="but Pendulum-v1 has Box"):
        goal_functions(make_environment("Pendulum-v1"))


def test_goals_without_compute_reward_are_refused() -> None:
    class Bare(Wandering):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = PointReach().observation_space

    with pytest.raises(WoodshedError, match=r"compute_reward.* but Bare has none"):
        goal_functions(Bare())


@needs_robotics
def test_the_stubs_of_gymnasium_robotics_say_nothing() -> None:
    from gymnasium_robotics.core import GoalEnv

    class Unfinished(GoalEnv):  # type: ignore[misc]
        observation_space = PointReach().observation_space

    with pytest.raises(WoodshedError, match="Unfinished has none"):
        goal_functions(Unfinished())

    class Rewarding(Unfinished):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return 0.0

    assert goal_functions(Rewarding()).compute_terminated is None


@needs_robotics
def test_fetch_has_a_reward_and_no_termination_of_its_own() -> None:
    env = make_environment("FetchReach-v4")
    functions = goal_functions(env)
    assert functions.compute_terminated is None
    goals = np.array([[0.0, 0, 0], [0, 0, 0.04], [0, 0, 0.06]])
    reward = functions.compute_reward(goals, np.zeros((3, 3)), {})
    np.testing.assert_array_equal(reward, [0, 0, -1])
    env.close()


@needs_robotics
def test_mazes_keep_their_termination() -> None:
    env = make_environment("PointMaze_UMaze-v3")
    functions = goal_functions(env)
    assert functions.compute_terminated is not None
    assert functions.compute_terminated.__func__ is type(env.unwrapped).compute_terminated  # type: ignore[attr-defined]
    env.close()


def test_a_wrapper_that_changes_rewards_is_told(recwarn: pytest.WarningsRecorder) -> None:
    env = make_environment("woodshed/PointReach-v0")
    compute_reward = goal_functions(env).compute_reward
    warn_of_other_rewards(env, compute_reward, ())
    assert not recwarn.list
    scaled = gymnasium.wrappers.TransformReward(env, lambda reward: 0.5 * float(reward))
    with pytest.warns(UserWarning, match=r"reward is -0\.5, but compute_reward says -1"):
        warn_of_other_rewards(scaled, compute_reward, ())


def test_a_reward_function_that_fails_is_left_to_the_replay(
    recwarn: pytest.WarningsRecorder,
) -> None:
    env = make_environment("woodshed/PointReach-v0")
    warn_of_other_rewards(env, goal_functions(env).compute_reward, ("not there",))
    assert not recwarn.list
