"""Finding the reward and termination functions that hindsight needs."""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from woodshed.errors import WoodshedError

GoalFunction = Callable[[Any, Any, Any], Any]
"""(achieved_goal [M, ...], desired_goal [M, ...], info of arrays [M, ...]) -> [M]"""


class GoalFunctions(NamedTuple):
    """What recomputes a step for another goal."""

    compute_reward: GoalFunction
    compute_terminated: GoalFunction | None
    """None: the stored termination stands."""


def has_goals(observation_space: gymnasium.Space[Any]) -> bool:
    """Whether observations hold `achieved_goal` and `desired_goal`."""
    return isinstance(observation_space, spaces.Dict) and {
        "achieved_goal",
        "desired_goal",
    } <= set(observation_space.keys())


def goal_functions(env: gymnasium.Env[Any, Any]) -> GoalFunctions:
    """The environment's own `compute_reward`, and `compute_terminated` where it has a true one.

    The outermost wrapper that defines one of them counts, the environment itself last, since that
    is whose rewards are stored. `compute_terminated` is None where

    - the environment has none: only the stored termination is known;
    - it is the one of Gymnasium-Robotics' `BaseRobotEnv` (Fetch, Hand): that answers False whatever
      it is asked, also one False for a whole batch. Their stored termination, made by the same
      function, is always False too, so leaving it to stand is exact.

    Raises:
        WoodshedError: the observations hold no goals, or the environment has no `compute_reward`.
    """
    name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    if not has_goals(env.observation_space):
        raise WoodshedError(
            f"hindsight needs observations with 'achieved_goal' and 'desired_goal', but {name} has "
            f"{env.observation_space}; use a goal environment or turn hindsight off"
        )
    compute_reward = _function(env, "compute_reward")
    if compute_reward is None:
        raise WoodshedError(
            f"hindsight needs compute_reward(achieved_goal, desired_goal, info), but {name} has "
            "none; add it to the environment or turn hindsight off"
        )
    return GoalFunctions(compute_reward, _function(env, "compute_terminated"))


def warn_of_other_rewards(
    env: gymnasium.Env[Any, Any], compute_reward: GoalFunction, info_keys: Sequence[str]
) -> None:
    """Take one step, and warn where its reward is not what `compute_reward` says of it.

    That is so under a wrapper that changes rewards: relabelled transitions would then be rewarded
    on another scale than those with their original goal.

    Args:
        env: an environment that nobody else steps.
        compute_reward: what hindsight asks.
        info_keys: what it is given of the step's info.
    """
    env.reset(seed=0)
    env.action_space.seed(0)
    observation, reward, _, _, info = env.step(env.action_space.sample())
    achieved, desired = (
        np.asarray(observation[key])[None] for key in ("achieved_goal", "desired_goal")
    )
    try:
        columns = {key: np.asarray(info[key])[None] for key in info_keys}
        computed = float(np.ravel(compute_reward(achieved, desired, columns))[0])
    except Exception:  # the replay tries the function out, and says what is wrong with it
        return
    if not np.isclose(computed, float(reward), rtol=1e-4, atol=1e-6):
        warnings.warn(
            f"a step's reward is {float(reward):g}, but compute_reward says {computed:g}: is there "
            "a wrapper that changes rewards? Change compute_reward with it, or turn hindsight off",
            UserWarning,
            stacklevel=2,
        )


def _function(env: gymnasium.Env[Any, Any], name: str) -> GoalFunction | None:
    """The outermost function of that name, None where there is none or it says nothing."""
    if not env.has_wrapper_attr(name):
        return None
    function = env.get_wrapper_attr(name)
    if not callable(function) or getattr(function, "__func__", function) in _saying_nothing(name):
        return None
    return function  # type: ignore[no-any-return]


def _saying_nothing(name: str) -> list[Any]:
    """Gymnasium-Robotics' functions of that name which are only stubs.

    They are looked up among the loaded modules: an environment that has them has loaded them.
    """
    core = sys.modules.get("gymnasium_robotics.core")
    robot_env = sys.modules.get("gymnasium_robotics.envs.robot_env")
    stubs = [getattr(core, "GoalEnv", None)]  # raises NotImplementedError
    if name == "compute_terminated":
        stubs.append(getattr(robot_env, "BaseRobotEnv", None))  # always False
    return [getattr(owner, name) for owner in stubs if owner is not None]
