"""What the critics are pulled towards, and the slow copies it is computed from."""

from typing import TypeVar

import jax

Network = TypeVar("Network")


def bellman_target(reward: jax.Array, discount: jax.Array, value_next: jax.Array) -> jax.Array:
    """`reward + discount * V(s')`, each `[B]`; discount 0 is a terminal state."""
    return reward + discount * value_next


def soft_value(q: jax.Array, log_prob: jax.Array, temperature: jax.Array) -> jax.Array:
    """V `[B]` of a sampled action: the least of its values `[E, B]` plus its entropy.

    V(s) = min_E Q(s, a) - temperature * log pi(a | s)  (Haarnoja et al., 2018, eq. 3).
    """
    return q.min(axis=0) - temperature * log_prob


def polyak(target: Network, online: Network, rate: float) -> Network:
    """Move the target's weights by `rate` of the way to the online ones."""
    moved: Network = jax.tree.map(lambda slow, fast: slow + rate * (fast - slow), target, online)
    return moved
