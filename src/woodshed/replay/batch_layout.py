"""The row of a batch: where in a run of words each part of it goes.

    observation | action | observation after the window

Without frame stacks an observation is copied as it is stored, in one run of words. With them each
stacked leaf is followed by its earlier frames, so every leaf has a run of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.frames import Stacking
from woodshed.replay.records import WORD_BYTES, Field, RecordLayout, whole_items
from woodshed.replay.tree import Leaf, Tree, unflatten

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
        if not self.stacking.stacked:
            return np.array([[0, self.record.observation_words, 0, 1]])
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
        return whole_items(self.action_offset + self.record.action.width, self._widest)

    @cached_property
    def words(self) -> int:
        """Length of the whole row."""
        return whole_items(self.next_offset + self.action_offset, self._widest)

    @property
    def _widest(self) -> int:
        """Bytes of the widest item, which every observation is aligned to."""
        return max(field.leaf.dtype.itemsize for field in self.record.fields)

    def offset_of(self, field: Field) -> int:
        """Where the newest frame of an observation's field lies in the row."""
        if not self.stacking.stacked:
            return field.offset
        run = self.runs[self.record.observation.index(field)]
        return int(run[TARGET] + run[COUNT] * (run[FRAMES] - 1))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """A row as numpy sees it."""
        action = (self.record.action.leaf, self.action_offset)
        parts = [*self._parts("", 0), action, *self._parts("next_", self.next_offset)]
        return self._dtype(parts, self.words)

    @cached_property
    def step_dtype(self) -> np.dtype[Any]:
        """A row without the observation after the window: a step of a sequence."""
        action = (self.record.action.leaf, self.action_offset)
        return self._dtype([*self._parts("", 0), action], self.next_offset)

    def _parts(self, prefix: str, start: int) -> list[tuple[Leaf, int]]:
        """The leaves of an observation, and where they begin."""
        at = self.runs[:, TARGET] if self.stacking.stacked else None
        return [
            (
                field.leaf._replace(path=(f"{prefix}{field.leaf.path[0]}", *field.leaf.path[1:])),
                start + (field.offset if at is None else int(at[i])),
            )
            for i, field in enumerate(self.record.observation)
        ]

    def _dtype(self, parts: Sequence[tuple[Leaf, int]], words: int) -> np.dtype[Any]:
        """Leaves at these words as fields of so many words."""
        stacked_words = {
            prefix + field.leaf.name: field.width
            for field in self.record.observation
            if field.leaf.path in self.stacking.stacked
            for prefix in ("", "next_")
        }
        formats: list[Any] = []
        for leaf, _ in parts:
            form: Any = (leaf.dtype, leaf.shape)
            if leaf.name in stacked_words:
                size = stacked_words[leaf.name] * WORD_BYTES
                frame = {"names": [FRAME], "formats": [form], "offsets": [0], "itemsize": size}
                form = (np.dtype(frame), (self.stacking.k,))  # type: ignore[call-overload]
            formats.append(form)
        return np.dtype(
            {
                "names": [leaf.name for leaf, _ in parts],
                "formats": formats,
                "offsets": [at * WORD_BYTES for _, at in parts],
                "itemsize": words * WORD_BYTES,
            }
        )

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
