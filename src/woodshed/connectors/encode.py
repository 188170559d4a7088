"""From an observation tree to the one vector that a policy or a critic sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from woodshed.connectors.leaves import leaf_arrays, leaf_spaces
from woodshed.connectors.statistics import Scale, is_normalised
from woodshed.errors import WoodshedError


@dataclass(frozen=True)
class Part:
    """How one leaf of the observation becomes numbers."""

    name: str
    """its name among the leaves, which is that of its statistic too"""
    normalised: bool
    factor: float
    """what it is multiplied by: 1/255 for uint8, else 1"""
    categories: tuple[tuple[int, int], ...] | None
    """for integers that are no quantities: first value and number of values, per element"""
    shape: tuple[int, ...]
    """of the leaf in one observation"""
    size: int
    """how many numbers it becomes"""


@dataclass(frozen=True)
class Encoder:
    """Turns observations into vectors; numpy in gives numpy out, jax arrays (also traced) give jax.

    Boxes are normalised by the scale, clipped and flattened; without a scale they are only
    flattened, since a clip at a few units would cut raw values. uint8 becomes [0, 1]; Discrete and
    MultiDiscrete become one-hot; MultiBinary stays.
    """

    parts: tuple[Part, ...]
    clip: float
    """bound of a normalised value, in standard deviations"""

    def is_single(self, observation: Any) -> bool:
        """Whether this is one observation, without the axis [B] in front."""
        leaves = leaf_arrays(observation)
        return all(np.ndim(leaves[part.name]) == len(part.shape) for part in self.parts)

    @property
    def size(self) -> int:
        """Length D of the vector."""
        return sum(part.size for part in self.parts)

    def __call__(self, observation: Any, scale: Scale | None) -> Any:
        """Encode a batch.

        Args:
            observation: tree of arrays [B, ...]
            scale: from `to_scale` of the statistics of the same space; None: do not normalise

        Returns:
            [B, D] float32.
        """
        leaves = leaf_arrays(observation)
        xp = _array_module(leaves, scale)
        return xp.concatenate(
            [self._encode(xp, part, leaves[part.name], scale) for part in self.parts], axis=-1
        )

    def _encode(self, xp: ModuleType, part: Part, leaf: Any, scale: Scale | None) -> Any:
        if part.categories is not None:
            columns = leaf.reshape(len(leaf), len(part.categories))
            return xp.concatenate(
                [
                    (columns[:, i, None] == np.arange(first, first + n)).astype(np.float32)
                    for i, (first, n) in enumerate(part.categories)
                ],
                axis=-1,
            )
        # Cast first: the store keeps float32, so acting and learning see the same numbers.
        value = leaf.astype(np.float32)
        if part.normalised and scale is not None:
            value = (value - scale.mean[part.name]) * scale.inverse_std[part.name]
            value = xp.clip(value, -self.clip, self.clip)
        elif part.factor != 1.0:
            value = value * np.float32(part.factor)
        return value.reshape(len(leaf), part.size)


def default_policy_keys(observation_space: gymnasium.Space[Any]) -> tuple[str, ...]:
    """What a policy sees unless told otherwise.

    Returns:
        ("observation", "desired_goal") for a space with goals; all keys, in order, of another Dict;
        () for a space that is one array, which then is seen itself.
    """
    if not isinstance(observation_space, spaces.Dict):
        return ()
    keys = tuple(observation_space.keys())
    if {"observation", "achieved_goal", "desired_goal"} <= set(keys):
        return ("observation", "desired_goal")
    return keys


def make_encoder(
    observation_space: gymnasium.Space[Any], keys: Sequence[str] | None = None, clip: float = 5.0
) -> Encoder:
    """Make the encoder for a space.

    Args:
        observation_space: one environment's
        keys: what the policy sees, in this order (default: `default_policy_keys`); a key of a
            nested Dict takes all of it, "outer/inner" one leaf
        clip: bound of a normalised value, in standard deviations (the HER paper's 5)

    Raises:
        WoodshedError: an unknown or doubled key, a leaf that has no encoding, a clip not above 0.
    """
    if not clip > 0:
        raise WoodshedError(f"clip must be above 0, got {clip}")
    if isinstance(keys, str):
        raise WoodshedError(f"policy keys are a list of names, got the one string {keys!r}")
    leaves = leaf_spaces(observation_space)
    chosen = default_policy_keys(observation_space) if keys is None else tuple(keys)
    if not isinstance(observation_space, spaces.Dict):
        if chosen:
            raise WoodshedError(
                f"policy keys {chosen} were given, but the observation is no Dict; leave them out"
            )
        names = [""]
    else:
        names = [name for key in chosen for name in _names_under(key, leaves)]
    if not names or len(set(names)) < len(names):
        raise WoodshedError(
            f"policy keys must name each part of the observation once at most, and at least one; "
            f"got {chosen}"
        )
    return Encoder(tuple(_part(name, leaves[name]) for name in names), float(clip))


def _names_under(key: str, leaves: dict[str, gymnasium.Space[Any]]) -> list[str]:
    names = [name for name in leaves if name == key or name.startswith(f"{key}/")]
    if not names:
        raise WoodshedError(
            f"the observation has no key {key!r} for the policy; it has {', '.join(leaves)}"
        )
    return names


def _part(name: str, leaf: gymnasium.Space[Any]) -> Part:
    of = f"observation {name!r}" if name else "the observation"
    if isinstance(leaf, spaces.Discrete):
        return _one_hot(name, (), [int(leaf.start)], [int(leaf.n)])
    if isinstance(leaf, spaces.MultiDiscrete):
        starts, numbers = leaf.start.ravel().tolist(), leaf.nvec.ravel().tolist()
        return _one_hot(name, tuple(leaf.shape), starts, numbers)
    if not isinstance(leaf, spaces.Box | spaces.MultiBinary):
        raise WoodshedError(
            f"{of} has the space {leaf}; a policy can see Box, Discrete, MultiDiscrete and "
            "MultiBinary: leave it out of the policy keys"
        )
    is_bytes = leaf.dtype == np.dtype("uint8")
    if is_bytes and len(leaf.shape) >= 3:
        raise WoodshedError(
            f"{of} is an image {leaf.shape}, and there is no image encoder yet: leave it out of "
            "the policy keys"
        )
    return Part(
        name=name,
        normalised=is_normalised(leaf),
        factor=1 / 255 if is_bytes else 1.0,
        categories=None,
        shape=tuple(leaf.shape),
        size=int(np.prod(leaf.shape)),
    )


def _one_hot(name: str, shape: tuple[int, ...], firsts: list[int], numbers: list[int]) -> Part:
    return Part(
        name=name,
        normalised=False,
        factor=1.0,
        categories=tuple(zip(firsts, numbers, strict=True)),
        shape=shape,
        size=sum(numbers),
    )


def _array_module(leaves: Mapping[str, Any], scale: Scale | None) -> ModuleType:
    """jax.numpy where any array is jax's (or is being traced by it), else numpy."""
    arrays = list(leaves.values())
    if scale is not None:
        arrays += [*scale.mean.values(), *scale.inverse_std.values()]
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np
