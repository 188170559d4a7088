"""Worker: Stable-Baselines3's replay buffers. Runs in the peer's environment, without woodshed."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from benchmarks import workload
from benchmarks.replay_worker import FullBuffer, main

PACKAGES = ("stable-baselines3", "torch", "numpy", "gymnasium")


class GoalEnvironment(gymnasium.Env[Any, Any]):
    """The least that HerReplayBuffer asks of an environment: spaces and a reward function."""

    def __init__(self) -> None:
        self.observation_space = workload.observation_space()
        self.action_space = workload.action_space()

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> workload.Array:
        return workload.compute_reward(achieved_goal, desired_goal, info)


def empty_buffer(transitions: int, n_envs: int, *, hindsight: bool, dtype: workload.Float) -> Any:
    """An empty buffer of this capacity on the CPU."""
    space, actions = workload.observation_space(dtype), workload.action_space()
    if not hindsight:
        return DictReplayBuffer(transitions, space, actions, device="cpu", n_envs=n_envs)
    return HerReplayBuffer(
        transitions,
        space,
        actions,
        env=DummyVecEnv([GoalEnvironment]),  # only its first environment's reward is ever asked
        device="cpu",
        n_envs=n_envs,
        n_sampled_goal=workload.GOALS_PER_TRANSITION,
        goal_selection_strategy="future",
    )


def fill(buffer: Any, rng: np.random.Generator) -> None:
    """Fill the buffer to its capacity with whole episodes, writing its arrays directly.

    Leaves what `add` leaves (`check_fill` compares them), in a second instead of a minute.
    """
    T = workload.EPISODE_STEPS
    for start in range(0, buffer.buffer_size, T):
        rows = slice(start, start + T)
        episode = workload.make_episode(rng, buffer.n_envs)
        for key, leaf in episode.observation.items():
            buffer.observations[key][rows] = leaf[:-1]
            buffer.next_observations[key][rows] = leaf[1:]
        buffer.actions[rows] = episode.action
        buffer.rewards[rows] = episode.reward
        buffer.dones[rows] = episode.truncated
        buffer.timeouts[rows] = episode.truncated
        if isinstance(buffer, HerReplayBuffer):
            buffer.ep_start[rows] = start
            buffer.ep_length[rows] = T
    buffer.pos, buffer.full = 0, True


def adder(buffer: Any, episode: workload.Episode) -> Callable[[], None]:
    """The call that adds the episode, with infos as DummyVecEnv gives them."""
    calls = [
        (
            step.observation,
            step.next_observation,
            step.action,
            step.reward,
            step.truncated,
            [{"is_success": 0.0, "TimeLimit.truncated": bool(end)} for end in step.truncated],
        )
        for step in workload.steps_of(episode)
    ]

    def add_episode() -> None:
        for call in calls:
            buffer.add(*call)

    return add_episode


def arrays_of(buffer: Any) -> dict[str, workload.Array]:
    """Every array that the buffer holds, by name."""
    found = {}
    for name, value in vars(buffer).items():
        leaves = value if isinstance(value, dict) else {"": value}
        found.update(
            {f"{name}.{key}": leaf for key, leaf in leaves.items() if isinstance(leaf, np.ndarray)}
        )
    return found


def check_same(bulk: Any, single: Any) -> None:
    """Stop the benchmark where a buffer filled in bulk is not the one filled by `add`."""
    if (bulk.pos, bulk.full) != (single.pos, single.full):
        raise RuntimeError("bulk filling left another position than add")
    for name, expected in arrays_of(single).items():
        np.testing.assert_array_equal(arrays_of(bulk)[name], expected, err_msg=name)


def check_fill() -> None:
    """Stop the benchmark where `fill` and the library's own `add` disagree."""
    n_envs = 2
    bulk, single = (empty_buffer(400, n_envs, hindsight=True, dtype=np.float64) for _ in range(2))
    fill(bulk, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for _ in range(single.buffer_size // workload.EPISODE_STEPS):
        adder(single, workload.make_episode(rng, n_envs))()
    check_same(bulk, single)


def full_buffer(
    transitions: int, n_envs: int, *, hindsight: bool, dtype: workload.Float
) -> FullBuffer:
    """Stable-Baselines3's `HerReplayBuffer`, or `DictReplayBuffer` without hindsight."""
    buffer = empty_buffer(transitions, n_envs, hindsight=hindsight, dtype=dtype)
    fill(buffer, np.random.default_rng(0))
    return FullBuffer(
        sample=buffer.sample,
        adder=lambda episode: adder(buffer, episode),
        array_bytes=sum(array.nbytes for array in arrays_of(buffer).values()),
        transitions=buffer.buffer_size * n_envs,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)  # never slower for such batches, and steadier on a busy machine
    check_fill()
    main(full_buffer, PACKAGES)
