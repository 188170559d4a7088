"""What an algorithm learns from."""

from typing import NamedTuple

import jax


class Transitions(NamedTuple):
    """B encoded windows. Each has one row in every field."""

    observation: jax.Array
    """`[B, D]` float32, where the window starts."""
    action: jax.Array
    """`[B, A]` float32 in [-1, 1], taken there."""
    reward: jax.Array
    """`[B]` float32, discounted sum over the window."""
    discount: jax.Array
    """`[B]` float32: gamma^k after k steps, 0 where the window ended in termination."""
    next_observation: jax.Array
    """`[B, D]` float32, where the window ends."""
    weight: jax.Array
    """`[B]` float32, importance weight in the critic loss."""
