"""Action spaces: which one an algorithm can act in, and actions as rows of one."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.errors import WoodshedError


def bounded_box(action_space: gymnasium.Space[Any]) -> spaces.Box:
    """The action space as a Box of real numbers with finite bounds.

    Raises:
        WoodshedError: it is something else.
    """
    needed = "SAC, TQC and TD3 need a Box of floats with finite bounds"
    if isinstance(action_space, spaces.Discrete):
        raise WoodshedError(
            f"the action space is {action_space}, but {needed}; discrete actions need DQN"
        )
    if not isinstance(action_space, spaces.Box) or not np.issubdtype(
        action_space.dtype, np.floating
    ):
        raise WoodshedError(
            f"the action space is {action_space}, but {needed}; wrap the environment so that it "
            "has one"
        )
    if not (np.isfinite(action_space.low).all() and np.isfinite(action_space.high).all()):
        raise WoodshedError(
            f"the action space {action_space} is unbounded, but {needed}; give the environment's "
            "action space the bounds that it really has"
        )
    return action_space


def action_rows(action: Any, n: int, action_space: gymnasium.Space[Any]) -> NDArray[Any]:
    """Actions of n lanes, as an own copy in the dtype of the action space.

    Args:
        action: [n, ...]
        n: how many are expected
        action_space: of one action

    Raises:
        WoodshedError: another number of actions, another shape, or a kind of number that the space
            does not hold.
    """
    actions = np.array(action)
    if len(actions) != n:
        raise WoodshedError(f"{len(actions)} actions were given for {n} lanes")
    shape, dtype = action_space.shape, action_space.dtype
    if shape is None or dtype is None:  # a space of other things than arrays
        return actions
    if n == 0:
        return np.zeros((0, *shape), dtype)
    if actions.shape[1:] == shape and actions.dtype == dtype:
        return actions
    if actions.shape[1:] != shape or not np.can_cast(actions.dtype, dtype, "same_kind"):
        raise WoodshedError(
            f"actions with shape {actions.shape} and dtype {actions.dtype} were given, expected "
            f"{(n, *shape)} and {dtype}, for the action space is {action_space}"
        )
    return actions.astype(dtype)
