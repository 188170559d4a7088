"""Observation trees: one array, or a dict (which may be nested) of them, with lanes in front."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.errors import WoodshedError

Tree: TypeAlias = "NDArray[Any] | dict[str, Tree]"


def zeros_tree(space: gymnasium.Space[Any], n: int, name: str = "observation") -> Tree:
    """Zeros of the space's shape and dtype with a leading axis [n].

    Raises:
        WoodshedError: the space is not Box, Discrete, MultiDiscrete, MultiBinary or a Dict of them.
    """
    if isinstance(space, spaces.Dict):
        return {key: zeros_tree(leaf, n, f"{name}[{key!r}]") for key, leaf in space.items()}
    if not isinstance(
        space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    ):
        raise WoodshedError(
            f"{name} has the space {space}; expected Box, Discrete, MultiDiscrete, MultiBinary or "
            "a Dict of them"
        )
    return np.zeros((n, *(space.shape or ())), space.dtype)


def empty_like_tree(tree: Tree) -> Tree:
    """A new tree of the same shapes and dtypes, its contents not set."""
    if isinstance(tree, dict):
        return {key: empty_like_tree(leaf) for key, leaf in tree.items()}
    return np.empty_like(tree)


def leaves(tree: Tree) -> Iterator[NDArray[Any]]:
    """The arrays of a tree, in its order."""
    if isinstance(tree, dict):
        for branch in tree.values():
            yield from leaves(branch)
    else:
        yield tree


def copy_tree(tree: Tree) -> Tree:
    """A copy that shares no memory, as plain numpy arrays."""
    if isinstance(tree, dict):
        return {key: copy_tree(leaf) for key, leaf in tree.items()}
    return np.array(tree)


def write_rows(tree: Tree, rows: int | slice | NDArray[np.bool_], values: Any) -> None:
    """Write an observation into row `rows`, or a tree [rows, ...] into masked or sliced rows."""
    if not isinstance(tree, dict):
        tree[rows] = values
        return
    for key, leaf in tree.items():
        if isinstance(leaf, dict):
            write_rows(leaf, rows, values[key])
        else:  # here and not by a call of its own: this runs for every leaf of every step
            leaf[rows] = values[key]


def take_rows(tree: Tree, rows: slice | NDArray[np.bool_]) -> Tree:
    """The rows of a tree that a mask names, or views of those in a slice."""
    if isinstance(tree, dict):
        return {key: take_rows(leaf, rows) for key, leaf in tree.items()}
    return tree[rows]


def check_observation(tree: Tree, observation: Any, lane: int, name: str = "observation") -> None:
    """Check that one environment's observation fits a row of the tree.

    Writing rows would else broadcast a short array or cut a fraction off without a word. Values are
    not compared with the bounds of the space: many environments leave theirs a little.

    Raises:
        WoodshedError: a missing key, another shape, or a kind of number that the space cannot hold.
    """
    if isinstance(tree, dict):
        missing = [
            key for key in tree if not hasattr(observation, "keys") or key not in observation
        ]
        if missing:
            raise WoodshedError(
                f"environment {lane} gave {name} without the key {missing[0]!r} of its "
                "observation space; mend the environment's space or its observation"
            )
        for key, leaf in tree.items():
            check_observation(leaf, observation[key], lane, f"{name}[{key!r}]")
        return
    value = np.asarray(observation)
    if value.shape != tree.shape[1:] or not np.can_cast(value.dtype, tree.dtype, "same_kind"):
        raise WoodshedError(
            f"environment {lane} gave {name} with shape {value.shape} and dtype {value.dtype}, but "
            f"its observation space says {tree.shape[1:]} and {tree.dtype}; mend one of them"
        )
