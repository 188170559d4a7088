"""Trees as named arrays, to be saved; the names are the paths in the tree."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray


def to_named(prefix: str, tree: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a tree by their paths, such as `actor.layers[0].weight`."""
    return {
        f"{prefix}{jax.tree_util.keystr(path)}": np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def from_named(prefix: str, template: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """A tree like `template` with the named arrays.

    Raises:
        KeyError: an array is missing.
        ValueError: an array has another shape or dtype than the template's.
    """

    def take(path: Any, leaf: Any) -> NDArray[Any]:
        name = f"{prefix}{jax.tree_util.keystr(path)}"
        array = arrays[name]
        if (array.shape, array.dtype) != (leaf.shape, leaf.dtype):
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}, expected {leaf.dtype} {leaf.shape}"
            )
        return array

    return jax.tree_util.tree_map_with_path(take, template)


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The inverse of `under`."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}
