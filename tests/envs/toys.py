"""Small environments whose every step is known, and how to record what lanes did."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from woodshed.envs import VectorEnvironment, make_environment


class Counting(gymnasium.Env[Any, Any]):
    """Observation [episode, step]; episode e lasts `lengths[e]` steps; the reward is the step."""

    def __init__(self, lengths: tuple[int, ...] = (2, 3), key: str = "is_success") -> None:
        self.observation_space = spaces.Box(0, 100, (2,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.lengths = lengths
        self.key = key
        self.episode = -1
        self.time = 0
        self.closed = 0
        self.seeds: list[int | None] = []
        self.options: list[dict[str, Any] | None] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self.seeds.append(seed)
        self.options.append(options)
        self.episode += 1
        self.time = 0
        return np.array([self.episode, 0], np.float32), {"level": -1.0}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self.time += 1
        over = self.time == self.lengths[self.episode % len(self.lengths)]
        info = {"level": 10.0 * self.episode + self.time, "only_steps": self.time, self.key: over}
        observation = np.array([self.episode, self.time], np.float32)
        # Even episodes end terminated, odd ones truncated.
        even = self.episode % 2 == 0
        return observation, float(self.time), over and even, over and not even, info

    def close(self) -> None:
        self.closed += 1


class Wandering(gymnasium.Env[Any, Any]):
    """Nested observations, noise from the environment's own generator, and an end by chance."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "position": spaces.Box(-np.inf, np.inf, (2,), np.float64),
                "inner": spaces.Dict(
                    {
                        "kind": spaces.Discrete(3),
                        "speed": spaces.Box(-np.inf, np.inf, (), np.float32),
                    }
                ),
            }
        )
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.position = np.zeros(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.position = self.np_random.normal(size=2)
        return self.observe(), {}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.position = self.position + action + self.np_random.normal(size=2)
        terminated = bool(self.np_random.random() < 0.15)
        info = {
            "height": float(self.position[0]),
            "pair": self.position.copy(),
            "is_success": np.bool_(self.position[1] > 0),
        }
        return self.observe(), float(self.position[1]), terminated, False, info

    def observe(self) -> dict[str, Any]:
        kind = int(self.np_random.integers(3))
        speed = np.float32(self.position.sum())
        return {"position": self.position.copy(), "inner": {"kind": kind, "speed": speed}}


def wandering() -> gymnasium.Env[Any, Any]:
    return TimeLimit(Wandering(), 6)


def pendulum() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("Pendulum-v1", max_episode_steps=7, disable_env_checker=True)


def point_reach() -> gymnasium.Env[Any, Any]:
    return make_environment("woodshed/PointReach-v0")


def row(tree: Any, lane: int) -> Any:
    """One lane of a tree, with dtypes, as something that compares bit for bit."""
    if isinstance(tree, dict):
        return {key: row(leaf, lane) for key, leaf in tree.items()}
    return str(tree.dtype), tree[lane].shape, tree[lane].tobytes()


def record(vector: VectorEnvironment, steps: int) -> list[list[dict[str, Any]]]:
    """What each lane really stepped, `steps` transitions of each lane.

    Actions are drawn for (lane, episode, step), so that they do not depend on when a lane is reset.
    """
    lanes: list[list[dict[str, Any]]] = [[] for _ in range(vector.n_envs)]
    episode, time = [0] * vector.n_envs, [0] * vector.n_envs
    low, high = vector.action_space.low, vector.action_space.high  # type: ignore[attr-defined]
    observation = vector.reset()
    while any(len(lane) < steps for lane in lanes):
        action = np.stack(
            [
                np.random.default_rng([lane, episode[lane], time[lane]]).uniform(low, high)
                for lane in range(vector.n_envs)
            ]
        ).astype(np.float32)
        step = vector.step(action)
        for lane in np.flatnonzero(step.stepped).tolist():
            fields = step._asdict()
            for unused in ("stepped", "observation", "failures"):
                del fields[unused]
            acted = {"acted_on": row(observation, lane), "action": row(action, lane)}
            lanes[lane].append(acted | {name: row(value, lane) for name, value in fields.items()})
            time[lane] += 1
            if step.terminated[lane] or step.truncated[lane]:
                episode[lane] += 1
                time[lane] = 0
        observation = step.observation
    return [lane[:steps] for lane in lanes]
