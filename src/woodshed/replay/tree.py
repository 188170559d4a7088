"""Observation trees: nested dicts of arrays, described by their leaves."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError

Tree: TypeAlias = "NDArray[Any] | dict[str, Tree]"
TreeLike: TypeAlias = Any  # what users hand in: arrays, lists, nested mappings of them


class Leaf(NamedTuple):
    """One array of a tree: where it hangs and what one row of it looks like."""

    path: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        """The path in one string: `image/left`."""
        return "/".join(self.path)


def leaves_of_space(space: gymnasium.Space[Any], name: str, float_dtype: DTypeLike) -> list[Leaf]:
    """List the leaves of a space, depth first, in the order of its keys.

    Args:
        space: Box, Discrete, MultiDiscrete, MultiBinary, or Dict of them, nested at will.
        name: what to call the space in messages, and the first part of every path.
        float_dtype: what floating leaves are stored as; other dtypes are kept.

    Raises:
        WoodshedError: for a space that has no fixed shape and dtype.
    """
    return _leaves(space, (name,), np.dtype(float_dtype))


def _leaves(
    space: gymnasium.Space[Any], path: tuple[str, ...], float_dtype: np.dtype[Any]
) -> list[Leaf]:
    if isinstance(space, gymnasium.spaces.Dict):
        return [
            leaf
            for key, child in space.spaces.items()
            for leaf in _leaves(child, (*path, str(key)), float_dtype)
        ]
    fixed = (
        gymnasium.spaces.Box,
        gymnasium.spaces.Discrete,
        gymnasium.spaces.MultiDiscrete,
        gymnasium.spaces.MultiBinary,
    )
    if not isinstance(space, fixed) or space.shape is None or space.dtype is None:
        raise WoodshedError(
            f"{'/'.join(path)} is a {type(space).__name__} space; expected Box, Discrete, "
            "MultiDiscrete, MultiBinary or a Dict of them: wrap the environment to convert it"
        )
    dtype = np.dtype(space.dtype)
    is_float = np.issubdtype(dtype, np.floating)
    return [Leaf(path, space.shape, float_dtype if is_float else dtype)]


def flatten(tree: TreeLike, leaves: Sequence[Leaf], batch: int) -> list[NDArray[Any]]:
    """Take the arrays of a tree out in the order of `leaves`, checking keys and shapes.

    Args:
        tree: an array `[batch, *shape]`, or a nested mapping of them.
        leaves: what is expected, from `leaves_of_space`.
        batch: the expected length of the leading axis.

    Raises:
        WoodshedError: for a missing or an unknown key, another shape, or a number that the leaf's
            integers cannot hold.
    """
    arrays = []
    for leaf in leaves:
        value = tree
        for depth, key in enumerate(leaf.path[1:], start=1):
            if not isinstance(value, Mapping) or key not in value:
                found = sorted(value) if isinstance(value, Mapping) else type(value).__name__
                raise WoodshedError(
                    f"{'/'.join(leaf.path[:depth])} has no key {key!r}; it holds {found}"
                )
            value = value[key]
        array = np.asarray(value)
        if array.shape != (batch, *leaf.shape):
            raise WoodshedError(
                f"{leaf.name} has shape {array.shape}, expected {(batch, *leaf.shape)}: "
                "one row per environment, also for a single one"
            )
        if leaf.dtype.kind in "iu" and array.dtype != leaf.dtype:
            with np.errstate(invalid="ignore"):
                whole = array.astype(leaf.dtype)
            if not np.array_equal(whole, array):
                raise WoodshedError(
                    f"{leaf.name} holds {array[whole != array][0]}, expected whole numbers of "
                    f"{leaf.dtype}"
                )
        arrays.append(array)
    if len(leaves) != (count := _count(tree)):
        raise WoodshedError(
            f"{leaves[0].path[0]} holds {count} arrays, expected the {len(leaves)} of its space: "
            f"{[leaf.name for leaf in leaves]}"
        )
    return arrays


def _count(tree: TreeLike) -> int:
    if not isinstance(tree, Mapping):
        return 1
    return sum(_count(child) for child in tree.values())


def unflatten(leaves: Sequence[Leaf], arrays: Sequence[NDArray[Any]]) -> Tree:
    """Hang arrays back into the tree that `leaves` describes: the inverse of `flatten`."""
    if len(leaves) == 1 and len(leaves[0].path) == 1:
        return arrays[0]
    tree: dict[str, Tree] = {}
    for leaf, array in zip(leaves, arrays, strict=True):
        node: Any = tree
        for key in leaf.path[1:-1]:
            node = node.setdefault(key, {})
        node[leaf.path[-1]] = array
    return tree
