"""The memory that a vector shares with its workers: what goes to and fro in every step."""

import mmap
import os
import tempfile
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.envs.step_arrays import StepArrays
from woodshed.envs.trees import Tree, leaves, zeros_tree

_LINE = 64
"""Arrays begin on cache lines."""


class Block(NamedTuple):
    """Arrays in shared memory; each worker writes the rows of its lanes."""

    action: NDArray[Any]
    """[L, ...] in the action space's dtype; the vector's to write"""
    step: StepArrays
    """[L, ...] the last step; a beginning episode writes its first `observation`"""
    beats: NDArray[np.int64]
    """[workers] a worker that plays episodes again counts its steps here, to show that it lives"""


class Spaces(NamedTuple):
    """What the shapes and dtypes of the block follow from."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]


def open_memory() -> int:
    """A file descriptor of memory without a name, which is gone with its last owner."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("woodshed")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def size_memory(fd: int, spaces: Spaces, n: int, workers: int) -> None:
    """Make the memory as large as the arrays of n lanes need.

    Raises:
        WoodshedError: a space holds other things than one array, or a Dict of them.
    """
    templates = _templates(spaces, n, workers)
    os.ftruncate(fd, sum(_padded(leaf) for leaf in leaves(templates)))


def map_memory(fd: int, spaces: Spaces, n: int, workers: int) -> Block:
    """The arrays in memory that `size_memory` was called for with the same arguments."""
    buffer = mmap.mmap(fd, os.fstat(fd).st_size)
    placed, _ = _place(_templates(spaces, n, workers), buffer, 0)
    return Block(placed["action"], StepArrays(**placed["step"]), placed["beats"])


def _templates(spaces: Spaces, n: int, workers: int) -> dict[str, Tree]:
    """Arrays of the block's names, shapes and dtypes."""
    return {
        "action": zeros_tree(spaces.action_space, n, "action"),
        "step": {
            "observation": zeros_tree(spaces.observation_space, n),
            "next_observation": zeros_tree(spaces.observation_space, n),
            "reward": np.zeros(n),
            "terminated": np.zeros(n, np.bool_),
            "truncated": np.zeros(n, np.bool_),
            "success": np.zeros(n),
        },
        "beats": np.zeros(workers, np.int64),
    }


def _place(tree: Any, buffer: mmap.mmap, offset: int) -> tuple[Any, int]:
    """The tree's arrays, one after another from `offset` on, and the offset behind them."""
    if not isinstance(tree, dict):
        return np.ndarray(tree.shape, tree.dtype, buffer, offset), offset + _padded(tree)
    placed = {}
    for key, leaf in tree.items():
        placed[key], offset = _place(leaf, buffer, offset)
    return placed, offset


def _padded(array: NDArray[Any]) -> int:
    return -(-array.nbytes // _LINE) * _LINE
