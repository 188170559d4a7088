"""The row of a batch: where in a run of words each part of it goes.

    observation | action | observation after the window

Without frame stacks an observation lies there as it is stored, and is copied in one run of words.
With them earlier frames stand before each stacked leaf, so every leaf is a run of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.frames import Stacking
from woodshed.replay.records import Field, RecordLayout, records_dtype, whole_items
from woodshed.replay.tree import Tree, unflatten

SOURCE, COUNT, TARGET, FRAMES = range(4)  # columns of `BatchLayout.runs`

FRAME = "frame"  # the one field of a stacked frame, which is padded to whole words


@dataclass(frozen=True)
class BatchLayout:
    """Where each leaf lies in a row of a batch.

    Attributes:
        record: layout of the stored records.
        stacking: which leaves are stacked.
    """

    record: RecordLayout
    stacking: Stacking

    @cached_property
    def runs(self) -> NDArray[np.int64]:
        """`[runs, 4]` what an observation is copied by; the columns are the run's first word in
        the record, its number of words, its first word in the row, and how many frames of it
        follow one another there, the newest last."""
        runs, at = [], 0
        for leaf, offset, width in self.record.observation:
            frames = self.stacking.k if leaf.path in self.stacking.stacked else 1
            at = whole_items(at, leaf.dtype.itemsize)
            runs.append([offset, width, at, frames])
            at += width * frames
        return np.array(runs)

    @cached_property
    def action_offset(self) -> int:
        """Where the action begins."""
        last = self.runs[-1]
        end = int(last[TARGET] + last[COUNT] * last[FRAMES])
        return whole_items(end, self.record.action.leaf.dtype.itemsize)

    @cached_property
    def next_offset(self) -> int:
        """Where the observation after the window begins."""
        return whole_items(self.action_offset + self.record.action.width, self.record.widest)

    @cached_property
    def words(self) -> int:
        """Length of the whole row."""
        return whole_items(self.next_offset + self.action_offset, self.record.widest)

    def offset_of(self, field: Field) -> int:
        """Where the newest frame of an observation's field lies in the row."""
        run = self.runs[self.record.observation.index(field)]
        return int(run[TARGET] + run[COUNT] * (run[FRAMES] - 1))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """A row as numpy sees it."""
        fields = [*self._fields("", 0), self._action, *self._fields("next_", self.next_offset)]
        return records_dtype(fields, self.words)

    @cached_property
    def step_dtype(self) -> np.dtype[Any]:
        """A row without the observation after the window: a step of a sequence."""
        return records_dtype([*self._fields("", 0), self._action], self.next_offset)

    @property
    def _action(self) -> Field:
        return self.record.action._replace(offset=self.action_offset)

    def _fields(self, prefix: str, start: int) -> list[Field]:
        """The fields of an observation that begins there; a stack is one of padded frames."""
        fields = []
        for (leaf, _, width), run in zip(self.record.observation, self.runs, strict=True):
            named = leaf._replace(path=(f"{prefix}{leaf.path[0]}", *leaf.path[1:]))
            if leaf.path in self.stacking.stacked:
                frame = Field(leaf._replace(path=(FRAME,)), 0, width)
                padded = records_dtype([frame], width)
                named = named._replace(shape=(self.stacking.k,), dtype=padded)
            fields.append(Field(named, start + int(run[TARGET]), width * int(run[FRAMES])))
        return fields

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        names = [leaf.name for leaf in self.record.observation_leaves]
        return names, [f"next_{name}" for name in names]

    @cached_property
    def _keys(self) -> list[str] | None:
        """The keys of an observation that is one dict of arrays; None for any other."""
        paths = [leaf.path for leaf in self.record.observation_leaves]
        return [path[-1] for path in paths] if {len(path) for path in paths} == {2} else None

    def view(self, rows: NDArray[Any], following: bool = False) -> Tree:
        """The observations of a batch's rows, as a tree of views.

        Args:
            rows: `[…]` of `dtype`.
            following: those after the windows.
        """
        arrays = [rows[name] for name in self._names[following]]
        if self.stacking.stacked:
            stacked = self.stacking.stacked
            leaves = self.record.observation_leaves
            arrays = [
                array[FRAME] if leaf.path in stacked else array
                for leaf, array in zip(leaves, arrays, strict=True)
            ]
        return self._hang(arrays)

    def _hang(self, arrays: Sequence[NDArray[Any]]) -> Tree:
        if self._keys is None:
            return unflatten(self.record.observation_leaves, arrays)
        return dict(zip(self._keys, arrays, strict=True))  # a fifth of the time
