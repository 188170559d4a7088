"""PointReach: move a point in the plane to a goal; the smallest task that hindsight is good for."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

STEP_LENGTH = np.float32(0.1)
"""How far a full action moves the point along one axis."""

ONE = np.float32(1.0)

THRESHOLD = 0.1
"""The goal is reached at this distance or nearer."""


class PointReach(gymnasium.Env[Any, NDArray[np.float32]]):
    """A point in the square [-1, 1]² whose action [2] in [-1, 1] is its velocity.

    Start and goal are drawn uniformly from the square. The reward is 0 within 0.1 of the goal,
    -1 elsewhere. The registered id `woodshed/PointReach-v0` ends an episode after 25 steps; the
    longest way, from corner to corner, takes 20.
    """

    def __init__(self, terminate_on_success: bool = False) -> None:
        """Make the task.

        Args:
            terminate_on_success: end the episode, as terminated, where the goal is reached.
        """
        plane = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = spaces.Dict(
            {"observation": plane, "achieved_goal": plane, "desired_goal": plane}
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.terminate_on_success = terminate_on_success
        self._position = np.zeros(2, np.float32)
        self._goal = np.zeros(2, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any]]:
        """Draw a start and a goal; `options` are not used."""
        super().reset(seed=seed)
        self._position, self._goal = self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32)
        return self._observe(), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[dict[str, NDArray[np.float32]], float, bool, bool, dict[str, Any]]:
        """Move by `0.1 * action`; the point stops at the edge of the square."""
        velocity = _within_square(np.asarray(action, np.float32))
        self._position = _within_square(self._position + STEP_LENGTH * velocity)
        success = bool(_reached(self._position, self._goal))
        terminated = success and self.terminate_on_success
        return self._observe(), float(success) - 1.0, terminated, False, {"is_success": success}

    def compute_reward(
        self, achieved_goal: NDArray[Any], desired_goal: NDArray[Any], info: dict[str, Any]
    ) -> NDArray[np.float32]:
        """Reward [...] for goals [..., 2]: 0 where the goal is reached, -1 elsewhere."""
        return _reached(achieved_goal, desired_goal).astype(np.float32) - np.float32(1.0)

    def compute_terminated(
        self, achieved_goal: NDArray[Any], desired_goal: NDArray[Any], info: dict[str, Any]
    ) -> NDArray[np.bool_]:
        """Termination [...] for goals [..., 2]: always False unless `terminate_on_success`."""
        return _reached(achieved_goal, desired_goal) & self.terminate_on_success

    def _observe(self) -> dict[str, NDArray[np.float32]]:
        return {
            "observation": self._position.copy(),
            "achieved_goal": self._position.copy(),
            "desired_goal": self._goal.copy(),
        }


def _within_square(point: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.minimum(np.maximum(point, -ONE), ONE)  # np.clip is slower on so little


def _reached(achieved_goal: NDArray[Any], desired_goal: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether goals [..., 2] are within the threshold of each other."""
    # In float64 whatever is given, so that a step and a batch agree to the last bit.
    away = np.subtract(achieved_goal, desired_goal, dtype=np.float64)
    return np.hypot(away[..., 0], away[..., 1]) <= THRESHOLD  # type: ignore[no-any-return]
