"""Worker: RLlib's kinds of sampling. Runs in the peer's environment, without woodshed."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.replay_buffers.episode_replay_buffer import EpisodeReplayBuffer
from ray.rllib.utils.replay_buffers.prioritized_episode_buffer import (
    PrioritizedEpisodeReplayBuffer,
)

from benchmarks import kinds_worker as kinds
from benchmarks import workload

PACKAGES = ("ray", "numpy", "gymnasium")
FILL_SECONDS = 45.0
"""When filling ends, with whatever is there: the buffer adds one Python object after another."""
PIECE = 10_000
"""Transitions that are added at a time."""


def episodes_of(rows: workload.Transitions) -> list[Any]:
    """RLlib's episodes; its connectors flatten an observation to one vector, as is done here."""
    T = workload.EPISODE_STEPS
    names = (rows.observation, rows.next_observation)
    seen, then = (np.concatenate(list(leaves.values()), axis=1) for leaves in names)
    episodes = []
    for start in range(0, len(rows.reward), T):
        steps = slice(start, start + T)
        episode = SingleAgentEpisode(
            observations=[*seen[steps], then[start + T - 1]],
            actions=list(rows.action[steps]),
            rewards=rows.reward[steps].tolist(),
            infos=[{}] * (T + 1),
            truncated=True,
            len_lookback_buffer=0,
        )
        episodes.append(episode.to_numpy())
    return episodes


def arrays_of(episodes: list[Any]) -> dict[str, workload.Array]:
    """The sampled pieces of episodes as one batch of arrays; RLlib's own connectors take longer."""
    ends = [episode.get_observations() for episode in episodes]
    return {
        "obs": np.stack([end[0] for end in ends]),
        "new_obs": np.stack([end[-1] for end in ends]),
        "actions": np.stack([episode.get_actions(0) for episode in episodes]),
        "rewards": np.array([episode.get_rewards(0) for episode in episodes], np.float32),
        "terminateds": np.array([episode.is_terminated for episode in episodes]),
        "weights": np.array(
            [episode.get_extra_model_outputs("weights", 0) for episode in episodes], np.float32
        ),
        "n_step": np.array([episode.get_extra_model_outputs("n_step", 0) for episode in episodes]),
    }


def make(
    transitions: int,
    *,
    make_transitions: Callable[..., workload.Transitions] = workload.make_transitions,
    n_step: int = 1,
    prioritised: bool = False,
    shape: tuple[int, int] | None = None,
) -> kinds.Filled:
    """An `EpisodeReplayBuffer`, or a prioritised one, filled as far as the time allows.

    With a shape `[B, T]` it is sampled as DreamerV3 does: steps that follow each other, as arrays.
    Two steps are a transition: the second one has its reward, next observation and end. That is
    four times as fast as the pieces of episodes that SAC and DQN sample.
    """
    buffer: Any = (
        PrioritizedEpisodeReplayBuffer(transitions, alpha=kinds.ALPHA)
        if prioritised
        else EpisodeReplayBuffer(transitions)
    )
    rng, start = np.random.default_rng(0), time.perf_counter()
    for begun in range(0, transitions, PIECE):
        buffer.add(episodes_of(make_transitions(rng, min(PIECE, transitions - begun))))
        if time.perf_counter() - start > FILL_SECONDS:
            break

    def sample() -> Any:
        if shape is not None:
            return buffer.sample(batch_size_B=shape[0], batch_length_T=shape[1])
        beta = kinds.BETA if prioritised else 0.0
        return arrays_of(
            buffer.sample(
                kinds.BATCH, n_step=n_step, gamma=kinds.GAMMA, beta=beta, sample_episodes=True
            )
        )

    def update(batch: Any, priorities: workload.Array) -> None:
        buffer.update_priorities(priorities)  # of what was sampled last

    return kinds.Filled(sample, len(buffer), update if prioritised else None)


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(
        make, make_transitions=workload.make_small_transitions, shape=(kinds.BATCH, 2)
    ),
    kinds.PLAIN: partial(make, shape=(kinds.BATCH, 2)),
    kinds.N_STEP: partial(make, n_step=kinds.STEPS),
    kinds.PRIORITISED: partial(make, prioritised=True),
    kinds.SEQUENCES: partial(make, shape=(kinds.SEQUENCE_COUNT, kinds.SEQUENCE_STEPS)),
}

if __name__ == "__main__":
    kinds.main(MAKERS, PACKAGES)
