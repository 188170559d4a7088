"""Actions between the policy's [-1, 1] and the environment's own bounds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def scale_action(action: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """The environment's action for a policy's.

    Args:
        action: [..., A] in [-1, 1]
        low: [A] finite lower bounds of the action space
        high: [A] finite upper bounds

    Returns:
        [..., A] within the bounds. With bounds -1 and 1 it is the action itself, bit for bit.
    """
    middle, reach = _middle_and_reach(low, high)
    scaled: NDArray[Any] = np.clip(middle + action * reach, low, high)
    return scaled


def unscale_action(action: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """The policy's action for an environment's: the inverse of `scale_action`.

    Args:
        action: [..., A] within the bounds
        low: [A] finite lower bounds of the action space
        high: [A] finite upper bounds

    Returns:
        [..., A] in [-1, 1]; 0 where the two bounds are equal.
    """
    middle, reach = _middle_and_reach(low, high)
    unscaled: NDArray[Any] = np.clip((action - middle) / np.where(reach > 0, reach, 1), -1, 1)
    return unscaled


def _middle_and_reach(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    # Halved first: the sum of two large bounds may be too large for the type.
    return low / 2 + high / 2, high / 2 - low / 2
