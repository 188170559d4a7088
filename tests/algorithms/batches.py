"""Batches and states for tests of whole algorithms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from woodshed.algorithms import Transitions

D, A, B = 3, 2, 7


def make_batch(seed: int = 0, **changes: Any) -> Transitions:
    """B random transitions, all of weight 1; `changes` replace fields."""
    rng = np.random.default_rng(seed)
    batch = Transitions(
        observation=_array(rng.normal(size=(B, D))),
        action=_array(rng.uniform(-1, 1, (B, A))),
        reward=_array(rng.normal(size=B)),
        discount=_array(rng.uniform(0.5, 1, B)),
        next_observation=_array(rng.normal(size=(B, D))),
        weight=jnp.ones(B),
    )
    return batch._replace(**{name: _array(value) for name, value in changes.items()})


def assert_equal(one: Any, other: Any) -> None:
    """Every leaf the same, bit for bit."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def assert_differ(one: Any, other: Any) -> None:
    """Every leaf different somewhere."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert not np.array_equal(a, b)


def _array(value: Any) -> jax.Array:
    return jnp.asarray(value, jnp.float32)
