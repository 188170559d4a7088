"""Batches as the replay gives them, and a stand-in for the encoder."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from woodshed.replay import Batch

D, A, B = 5, 2, 8


def make_batches(K: int, seed: int = 0) -> Batch:
    """A goal environment's batch with leading axes `[K, B]`."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return rng.normal(size=(K, B, *shape)).astype(np.float32)

    return Batch(
        observation={
            "observation": normal(3),
            "achieved_goal": normal(2),
            "desired_goal": normal(2),
        },
        action=np.tanh(normal(A)),
        reward=normal(),
        discount=rng.uniform(0.5, 1, (K, B)).astype(np.float32),
        next_observation={
            "observation": normal(3),
            "achieved_goal": normal(2),
            "desired_goal": normal(2),
        },
        weight=rng.uniform(0.5, 1, (K, B)).astype(np.float32),
        handle=rng.integers(2**40, size=(K, B)),
        steps=np.ones((K, B), np.int32),
        relabelled=np.zeros((K, B), np.bool_),
    )


def encode(observation: Any, scale: Any) -> Any:
    """Observation and desired goal side by side, times a scale."""
    return scale * jnp.concatenate([observation["observation"], observation["desired_goal"]], -1)
