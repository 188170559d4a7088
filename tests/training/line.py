"""Small environments; a worker process that imports them imports no jax."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np


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


class Failing(Line):
    """Raises in the steps whose numbers are files in a folder, each once."""

    def __init__(self, folder: Path, *, always: bool = False) -> None:
        super().__init__(length=20)
        self.folder, self.always = folder, always

    def step(self, action: Any) -> Any:
        trap = self.folder / str(len(self.seen_actions))
        if trap.exists():
            if not self.always:
                trap.unlink()
            raise RuntimeError("the motor is on fire")
        return super().step(action)
