"""What `sample` gives."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.tree import Tree


class Batch(NamedTuple):
    """Sampled windows, reduced to what a learner's target `reward + discount * V(next)` takes.

    A NamedTuple, so that jax sees it as a tree of arrays. B is the batch size; the arrays are the
    caller's own, to write to as well.
    """

    observation: Tree
    """`[B, …]` at the window's start; with hindsight the desired goal is the new one."""
    action: NDArray[Any]
    """`[B, …]` taken there."""
    reward: NDArray[np.float32]
    """`[B]` the sum of gamma^i r_i over the window's steps."""
    discount: NDArray[np.float32]
    """`[B]` gamma^steps; 0 where the window ended in termination, never for truncation or cut."""
    next_observation: Tree
    """`[B, …]` after the window's last step."""
    weight: NDArray[np.float32]
    """`[B]` importance weights; 1 without priorities."""
    handle: NDArray[np.int64]
    """`[B]` names the start row for good: row number x lanes + lane, with rows numbered as written,
    so it never fits a newer row in the same place."""
    steps: NDArray[np.int32]
    """`[B]` steps of the window."""
    relabelled: NDArray[np.bool_]
    """`[B]` whether the window has a hindsight goal."""
