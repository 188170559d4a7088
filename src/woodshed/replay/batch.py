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


class SequenceBatch(NamedTuple):
    """Sampled sequences of T steps; the picked row is the first one after the burn-in.

    Step t of a sequence has its own n-step window: its target is
    `reward[:, t] + discount[:, t] * V(observation[:, t + steps[:, t]])`.
    """

    observation: Tree
    """`[B, T + n, …]`, n the most steps of a return: the bootstrap observations are included. Where
    the episode has no such row, the nearest one is repeated."""
    action: NDArray[Any]
    """`[B, T, …]`."""
    reward: NDArray[np.float32]
    """`[B, T]` discounted sum over the step's window."""
    discount: NDArray[np.float32]
    """`[B, T]` gamma^steps; 0 where the window ended in termination."""
    steps: NDArray[np.int32]
    """`[B, T]` steps of the window."""
    mask: NDArray[np.bool_]
    """`[B, T]` whether there is such a step: not before the episode's first stored row, not after
    its end, and not after a relabelled termination from the picked row on. Else reward, discount
    and steps are 0."""
    weight: NDArray[np.float32]
    """`[B]` importance weights of the picked rows."""
    handle: NDArray[np.int64]
    """`[B]` names the picked row; see `Batch`."""
    relabelled: NDArray[np.bool_]
    """`[B]` whether the sequence has a hindsight goal."""
    recurrent_state: "Tree | None"
    """Tree of `[B, …]`: the state stored with the first step whose mask is true; None where no
    `recurrent_state_space` was declared."""
