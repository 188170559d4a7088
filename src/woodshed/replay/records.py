"""The packed record: everything that is stored of one row, side by side in 32-bit words.

A sampled transition touches two neighbouring records, and so a few neighbouring cache lines,
however many leaves its observation has. The kernels copy words and never look at dtypes, so each is
compiled once, whatever the spaces.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.tree import Leaf, Tree, leaves_of_space, unflatten

WORD_BYTES = 4


class Field(NamedTuple):
    """One leaf's place in the record: `width` words from `offset` on."""

    leaf: Leaf
    offset: int
    width: int


@dataclass(frozen=True)
class RecordLayout:
    """Where each leaf lies in a record: the observation first, then what belongs to the step.

    Attributes:
        observation: fields of the observation tree.
        action: the action's field.
        reward: the reward's field (always float32).
        info: fields of the declared info keys.
        state: fields of the recurrent state.
    """

    observation: tuple[Field, ...]
    action: Field
    reward: Field
    info: tuple[Field, ...]
    state: tuple[Field, ...]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """All fields, in the order of the record."""
        return (*self.observation, self.action, self.reward, *self.info, *self.state)

    @cached_property
    def observation_leaves(self) -> list[Leaf]:
        """The leaves of the observation, in order."""
        return [field.leaf for field in self.observation]

    @cached_property
    def info_leaves(self) -> list[Leaf]:
        """The leaves of the info, in order."""
        return [field.leaf for field in self.info]

    @cached_property
    def state_leaves(self) -> list[Leaf]:
        """The leaves of the recurrent state, in order."""
        return [field.leaf for field in self.state]

    @cached_property
    def next_leaves(self) -> list[Leaf]:
        """The same under the name `next_observation`, for messages."""
        return [
            leaf._replace(path=("next_observation", *leaf.path[1:]))
            for leaf in self.observation_leaves
        ]

    @cached_property
    def info_keys(self) -> frozenset[str]:
        """The declared info keys."""
        return frozenset(field.leaf.path[-1] for field in self.info)

    @cached_property
    def words(self) -> int:
        """Length of a record in words; a multiple of the widest item's, so that all are aligned."""
        last = self.fields[-1]
        return whole_items(last.offset + last.width, self.widest)

    @cached_property
    def widest(self) -> int:
        """Bytes of the widest item."""
        return max(field.leaf.dtype.itemsize for field in self.fields)

    @property
    def observation_words(self) -> int:
        """Length of the observation, which begins the record, in words."""
        return self.action.offset

    @cached_property
    def state_dtype(self) -> np.dtype[Any]:
        """The recurrent state as numpy sees its words, which end the record."""
        start = self.words - self.state_words
        fields = [field._replace(offset=field.offset - start) for field in self.state]
        return records_dtype(fields, self.state_words)

    @property
    def state_words(self) -> int:
        """Length of the recurrent state, with which the record ends, in words; 0 without."""
        return self.words - self.state[0].offset if self.state else 0

    @cached_property
    def exponent_mask(self) -> NDArray[np.uint32]:
        """For each word the bits that are all set in an infinity or NaN; 0 where none can be."""
        mask = np.zeros(self.words, np.uint32)
        for leaf, offset, width in self.fields:
            if leaf.dtype == np.float32:
                mask[offset : offset + width] = 0x7F800000
            elif leaf.dtype == np.float64:  # the exponent is in the upper word (little-endian)
                mask[offset + 1 : offset + width : 2] = 0x7FF00000
        return mask

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """A record as numpy sees it, fields by their leaves' names."""
        return records_dtype(self.fields, self.words)

    def field_at(self, word: int) -> Field:
        """The field that a word of the record belongs to."""
        return next(f for f in self.fields if f.offset <= word < f.offset + f.width)


def layout_of_spaces(
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    info_space: Mapping[str, gymnasium.Space[Any]],
    recurrent_state_space: gymnasium.Space[Any] | None,
    float_dtype: DTypeLike,
) -> RecordLayout:
    """The record for what a replay is to hold; see `ReplayBuffer`.

    Raises:
        WoodshedError: for a space without fixed shape, or another float dtype.
    """
    if np.dtype(float_dtype) not in (np.float32, np.float64):
        raise WoodshedError(f"float_dtype is {float_dtype}, expected float32 or float64")
    observation = leaves_of_space(observation_space, "observation", float_dtype)
    if isinstance(action_space, gymnasium.spaces.Dict):
        raise WoodshedError("a Dict action space is not supported: flatten it in a wrapper")
    (action,) = leaves_of_space(action_space, "action", float_dtype)
    if any(isinstance(space, gymnasium.spaces.Dict) for space in info_space.values()):
        raise WoodshedError("an info key holds one array: declare each part of a Dict by itself")
    info = [
        leaf._replace(path=("info", key))
        for key, space in info_space.items()
        for leaf in leaves_of_space(space, f"info {key}", float_dtype)
    ]
    state = (
        leaves_of_space(recurrent_state_space, "recurrent_state", float_dtype)
        if recurrent_state_space is not None
        else []
    )
    return layout_record(observation, action, info, state)


def layout_record(
    observation: Sequence[Leaf], action: Leaf, info: Sequence[Leaf], state: Sequence[Leaf]
) -> RecordLayout:
    """Place the leaves one after the other, each padded to whole words and aligned to its items."""
    reward = Leaf(("reward",), (), np.dtype(np.float32))
    fields = []
    offset = 0
    for leaf in (*observation, action, reward, *info, *state):
        nbytes = leaf.dtype.itemsize * math.prod(leaf.shape)
        width = -(-nbytes // WORD_BYTES)
        offset = whole_items(offset, leaf.dtype.itemsize)
        fields.append(Field(leaf, offset, width))
        offset += width
    n = len(observation)
    extra = fields[n + 2 :]
    return RecordLayout(
        tuple(fields[:n]),
        fields[n],
        fields[n + 1],
        tuple(extra[: len(info)]),
        tuple(extra[len(info) :]),
    )


def whole_items(words: int, itemsize: int) -> int:
    """The number of words, up to a multiple of an item's."""
    item_words = max(1, itemsize // WORD_BYTES)
    return -(-words // item_words) * item_words


def records_dtype(fields: Sequence[Field], words: int) -> np.dtype[Any]:
    """The numpy dtype of so many words with some fields in them."""
    return np.dtype(
        {
            "names": [field.leaf.name for field in fields],
            "formats": [(field.leaf.dtype, field.leaf.shape) for field in fields],
            "offsets": [field.offset * WORD_BYTES for field in fields],
            "itemsize": words * WORD_BYTES,
        }
    )


def as_records(words: NDArray[np.uint32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """See whole words `[..., W]` as records `[...]`, whose fields are views `[..., *shape]`."""
    # Not words.view(dtype): that takes 10 µs for a dtype with fields.
    records: NDArray[Any] = np.ndarray(words.shape[:-1], dtype, words)
    return records


def as_tree(leaves: Sequence[Leaf], records: NDArray[Any]) -> "Tree | None":
    """The fields of records that `leaves` name, as a tree of views; None for no leaves."""
    if not leaves:
        return None
    return unflatten(leaves, [records[leaf.name] for leaf in leaves])
