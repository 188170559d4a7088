"""Which action spaces a continuous-control algorithm can act in."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

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
