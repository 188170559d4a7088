"""The leaves of an observation by name: "observation", "camera/left"; "" where it is one array."""

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

from woodshed.errors import WoodshedError


def leaf_spaces(space: gymnasium.Space[Any], name: str = "") -> dict[str, gymnasium.Space[Any]]:
    """Name -> space for every leaf, in the order of the space.

    Raises:
        WoodshedError: two leaves would have one name, since a key contains "/".
    """
    if not isinstance(space, spaces.Dict):
        return {name: space}
    named: dict[str, gymnasium.Space[Any]] = {}
    for key, child in space.items():
        for path, leaf in leaf_spaces(child, _join(name, key)).items():
            if path in named:
                raise WoodshedError(
                    f"two parts of the observation are named {path!r}; rename a key that has a '/'"
                )
            named[path] = leaf
    return named


def leaf_arrays(observation: Any, name: str = "") -> dict[str, Any]:
    """Name -> array for every leaf of an observation tree."""
    if not isinstance(observation, Mapping):
        return {name: observation}
    return {
        path: leaf
        for key, child in observation.items()
        for path, leaf in leaf_arrays(child, _join(name, key)).items()
    }


def _join(name: str, key: str) -> str:
    return f"{name}/{key}" if name else key
