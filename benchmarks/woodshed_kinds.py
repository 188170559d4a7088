"""Worker: the kinds of sampling of Woodshed's replay, through its public calls only."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import kinds_worker as kinds
from benchmarks import workload
from woodshed.replay import Batch, Episode, Hindsight, Priorities, ReplayBuffer

PACKAGES = ("woodshed", "numpy", "numba", "gymnasium")
PIECE = 200_000
"""Transitions that are drawn at a time, which bounds the memory beside the buffer."""


def fill(buffer: ReplayBuffer, transitions: int, *, small: bool) -> None:
    """Fill the buffer with whole episodes, in turn for each environment."""
    rng, T = np.random.default_rng(0), workload.EPISODE_STEPS
    for begun in range(0, transitions, PIECE):
        episodes = workload.make_episode(rng, min(PIECE, transitions - begun) // T)
        seen: dict[str, Any] = episodes.observation
        for number in range(episodes.reward.shape[1]):
            observation = {key: leaf[:, number] for key, leaf in seen.items()}
            few = observation["observation"][:, : workload.SMALL_OBSERVATION_SIZE]
            buffer.extend(
                number % kinds.N_ENVS,
                Episode(
                    few if small else observation,
                    episodes.action[:, number],
                    episodes.reward[:, number],
                    ending="truncated",
                ),
            )


def make(
    transitions: int,
    *,
    small: bool = False,
    n_step: int = 1,
    hindsight: bool = False,
    prioritised: bool = False,
    sequences: bool = False,
) -> kinds.Filled:
    """A full `ReplayBuffer`."""
    space = workload.small_observation_space() if small else workload.observation_space(np.float32)
    buffer = ReplayBuffer(
        space,
        workload.action_space(),
        transitions,
        n_envs=kinds.N_ENVS,
        gamma=kinds.GAMMA,
        n_step=n_step,
        hindsight=Hindsight(
            "future", k=workload.GOALS_PER_TRANSITION, compute_reward=workload.compute_reward
        )
        if hindsight
        else None,
        priorities=Priorities(kinds.ALPHA, kinds.BETA) if prioritised else None,
    )
    fill(buffer, transitions, small=small)

    def update(batch: Batch, priorities: workload.Array) -> None:
        buffer.update_priorities(batch.handle, priorities)

    return kinds.Filled(
        partial(buffer.sample_sequences, kinds.SEQUENCE_COUNT, kinds.SEQUENCE_STEPS)
        if sequences
        else partial(buffer.sample, kinds.BATCH),
        transitions,
        update if prioritised else None,
    )


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(make, small=True),
    kinds.PLAIN: make,
    kinds.N_STEP: partial(make, n_step=kinds.STEPS),
    kinds.HINDSIGHT: partial(make, hindsight=True),
    kinds.PRIORITISED: partial(make, prioritised=True),
    kinds.SEQUENCES: partial(make, sequences=True),
    kinds.EVERYTHING: partial(make, n_step=kinds.STEPS, hindsight=True, prioritised=True),
}

if __name__ == "__main__":
    kinds.main(MAKERS, PACKAGES)
