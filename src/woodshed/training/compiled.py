"""Compiled functions, shared between runs."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax

from woodshed.learner import make_act, make_update
from woodshed.replay import Batch

# One function for each algorithm and encoder: jax compiles it once for each shape.
compiled_act: Callable[..., Any] = lru_cache(maxsize=8)(make_act)
compiled_update: Callable[..., Any] = lru_cache(maxsize=8)(make_update)


def in_updates(batch: Batch, count: int) -> Batch:
    """A batch `[K * B, …]` as one for each of K updates, `[K, B, …]`."""
    split: Batch = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    return split
