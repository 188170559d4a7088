"""Worker: Woodshed's replay buffer, through its public calls only."""

from collections.abc import Callable

import numpy as np

from benchmarks import workload
from benchmarks.replay_worker import FullBuffer, main
from woodshed.replay import Hindsight, ReplayBuffer

PACKAGES = ("woodshed", "numpy", "numba", "gymnasium")


def adder(buffer: ReplayBuffer, episode: workload.Episode) -> Callable[[], None]:
    """The call that adds the episode."""
    steps = workload.steps_of(episode)

    def add_episode() -> None:
        for step in steps:
            buffer.add(
                observation=step.observation,
                action=step.action,
                reward=step.reward,
                terminated=step.terminated,
                truncated=step.truncated,
                next_observation=step.next_observation,
            )

    return add_episode


def full_buffer(
    transitions: int, n_envs: int, *, hindsight: bool, dtype: workload.Float
) -> FullBuffer:
    """Woodshed's `ReplayBuffer`."""
    buffer = ReplayBuffer(
        workload.observation_space(dtype),
        workload.action_space(),
        transitions,
        n_envs=n_envs,
        hindsight=Hindsight(
            "future",
            k=workload.GOALS_PER_TRANSITION,
            compute_reward=workload.compute_reward,
        )
        if hindsight
        else None,
    )
    rng = np.random.default_rng(0)
    for _ in range(0, transitions, workload.EPISODE_STEPS * n_envs):
        adder(buffer, workload.make_episode(rng, n_envs))()
    return FullBuffer(
        sample=buffer.sample,
        adder=lambda episode: adder(buffer, episode),
        array_bytes=buffer.nbytes,
        transitions=len(buffer),
    )


if __name__ == "__main__":
    main(full_buffer, PACKAGES)
