"""The packed record: everything that is stored of one row, side by side in 32-bit words.

A sampled transition touches two neighbouring records, and so a few neighbouring cache lines,
however many leaves its observation has. The kernels copy words and never look at dtypes, so each is
compiled once, whatever the spaces.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.tree import Leaf

WORD_BYTES = 4


class Field(NamedTuple):
    """One leaf's place in the record: `width` words from `offset` on, `nbytes` of them used."""

    leaf: Leaf
    offset: int
    width: int
    nbytes: int


@dataclass(frozen=True)
class RecordLayout:
    """Where each leaf lies in a record: the observation first, then what belongs to the step.

    Attributes:
        observation: fields of the observation tree.
        action: the action's field.
        reward: the reward's field (always float32).
        info: fields of the declared info keys.
    """

    observation: tuple[Field, ...]
    action: Field
    reward: Field
    info: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, in the order of the record."""
        return (*self.observation, self.action, self.reward, *self.info)

    @property
    def words(self) -> int:
        """Length of a record in words."""
        last = self.fields[-1]
        return last.offset + last.width

    @property
    def observation_words(self) -> int:
        """Length of the observation, which begins the record, in words."""
        return self.action.offset

    @cached_property
    def exponent_mask(self) -> NDArray[np.uint32]:
        """For each word the bits that are all set in an infinity or NaN; 0 where none can be."""
        mask = np.zeros(self.words, np.uint32)
        for leaf, offset, width, _ in self.fields:
            if leaf.dtype == np.float32:
                mask[offset : offset + width] = 0x7F800000
            elif leaf.dtype == np.float64:  # the exponent is in the upper word (little-endian)
                mask[offset + 1 : offset + width : 2] = 0x7FF00000
        return mask

    def field_at(self, word: int) -> Field:
        """The field that a word of the record belongs to."""
        return next(f for f in self.fields if f.offset <= word < f.offset + f.width)


def layout_record(observation: Sequence[Leaf], action: Leaf, info: Sequence[Leaf]) -> RecordLayout:
    """Place the leaves one after the other, each padded to whole words."""
    reward = Leaf(("reward",), (), np.dtype(np.float32))
    fields = []
    offset = 0
    for leaf in (*observation, action, reward, *info):
        nbytes = leaf.dtype.itemsize * math.prod(leaf.shape)
        width = -(-nbytes // WORD_BYTES)
        fields.append(Field(leaf, offset, width, nbytes))
        offset += width
    n = len(observation)
    return RecordLayout(tuple(fields[:n]), fields[n], fields[n + 1], tuple(fields[n + 2 :]))


def view_field(words: NDArray[np.uint32], field: Field) -> NDArray[Any]:
    """See a field in an array of records `[..., words]` as `[..., *shape]`; no copy is made."""
    start = field.offset * WORD_BYTES
    raw = words.view(np.uint8)[..., start : start + field.nbytes]
    return raw.view(field.leaf.dtype).reshape(*words.shape[:-1], *field.leaf.shape)
