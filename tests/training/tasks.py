"""Small environments and settings for training tests."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from woodshed.algorithms import SAC
from woodshed.training import Result, Settings, train

REACH = "woodshed/PointReach-v0"
SMALL = SAC(hidden=(16,), learning_rate=1e-3)


def small_settings(**changes: Any) -> Settings[SAC]:
    """Settings of a run that takes seconds, most of them compilation."""
    return Settings(
        **{
            "algorithm": SMALL,
            "steps": 200,
            "n_envs": 2,
            "learning_starts": 50,
            "batch_size": 16,
            "capacity": 1_000,
            "evaluate_every": 100,
            "evaluate_episodes": 3,
            "final_episodes": 4,
            "log_every": 50,
            **changes,
        }
    )


def run(folder: Path, env: Any = REACH, **changes: Any) -> Result:
    """Train with small settings."""
    return train(env, small_settings(**changes), folder)


class Line(gymnasium.Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """A number that actions move; no goals; reward as told, episodes of `length`."""

    def __init__(self, length: int = 10, reward: float = 0.0) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
        self.length, self.reward = length, reward
        self.seen_actions: list[float] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        self.steps = 0
        return self.position.copy(), {}

    def step(self, action: Any) -> Any:
        self.seen_actions.append(float(action[0]))
        self.position = self.position + action
        self.steps += 1
        return self.position.copy(), self.reward, False, self.steps >= self.length, {}
