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
    is_dict, direct = isinstance(tree, dict), 0
    for leaf in leaves:
        path = leaf.path
        if is_dict and len(path) == 2 and path[1] in tree:  # the common case, in half the time
            array = np.asarray(tree[path[1]])
            direct += 1
        else:
            array = np.asarray(_follow(tree, leaf))
        shape = array.shape
        if not shape or shape[0] != batch or shape[1:] != leaf.shape:
            raise WoodshedError(
                f"{leaf.name} has shape {shape}, expected {(batch, *leaf.shape)}: "
                "one row per environment, also for a single one"
            )
        if array.dtype != leaf.dtype and leaf.dtype.kind in "iu":
            _check_whole(leaf, array)
        arrays.append(array)
    if is_dict and direct == len(tree):
        return arrays  # each key was asked for
    if leaves and len(leaves) != (count := _count(tree)):
        raise WoodshedError(
            f"{leaves[0].path[0]} holds {count} arrays, expected the {len(leaves)} of its space: "
            f"{[leaf.name for leaf in leaves]}"
        )
    return arrays


def _follow(tree: TreeLike, leaf: Leaf) -> Any:
    for depth, key in enumerate(leaf.path[1:], start=1):
        if not _is_mapping(tree) or key not in tree:
            found = sorted(tree) if _is_mapping(tree) else type(tree).__name__
            raise WoodshedError(
                f"{'/'.join(leaf.path[:depth])} has no key {key!r}; it holds {found}"
            )
        tree = tree[key]
    return tree


def _check_whole(leaf: Leaf, array: NDArray[Any]) -> None:
    with np.errstate(invalid="ignore"):
        whole = array.astype(leaf.dtype)
    wrong = whole != array
    if wrong.any():
        lane = int(np.argwhere(wrong)[0][0])
        raise WoodshedError(
            f"{leaf.name} of environment {lane} holds {array[wrong][0]}, expected whole numbers "
            f"of {leaf.dtype}"
        )


def _count(tree: TreeLike) -> int:
    return sum(map(_count, tree.values())) if _is_mapping(tree) else 1


def _is_mapping(tree: TreeLike) -> bool:
    # The plain types first: to ask whether something is a Mapping takes half a microsecond.
    if isinstance(tree, dict | np.ndarray):
        return isinstance(tree, dict)
    return isinstance(tree, Mapping)


def unflatten(leaves: Sequence[Leaf], arrays: Sequence[NDArray[Any]]) -> Tree:
    """Hang arrays back into the tree that `leaves` describes: the inverse of `flatten`."""
    if len(leaves) == 1 and len(leaves[0].path) == 1:
        return arrays[0]
    tree: dict[str, Tree] = {}
    for leaf, array in zip(leaves, arrays, strict=True):
        node: Any = tree
        path = leaf.path
        for key in path[1:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = array
    return tree
