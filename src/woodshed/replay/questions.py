"""What the functions of hindsight are asked about: goals and info of many steps, as arrays.

The arrays are laid out with the steps side by side, item by item: what a reward function does with
an axis of three numbers numpy does three times as fast so. They are views of room that the next
sample uses again: a function that keeps them must copy them.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel
from woodshed.replay.machine import copy_item, copy_items, item_at
from woodshed.replay.records import WORD_BYTES, Field, whole_items
from woodshed.replay.store import wrap

ACHIEVED, DESIRED, INFO = range(3)  # where a field comes from: row after the step, new goal, row

SOURCE, WORD, WIDTH, START, UNIT = range(5)
"""Columns of `Questions.table`: where it comes from, first word there, number of words, where it
begins among the words of a question, and the words of an item, all of one step's stay together."""


class Questions(NamedTuple):
    """The parts of a question."""

    fields: list[tuple[int, Field]]
    """Where each comes from, and its leaf and place in a record."""
    table: NDArray[np.int64]
    """`[fields, 5]`"""
    words: int
    """Length of a question."""


class Asked(NamedTuple):
    """Questions as the arguments of hindsight's functions; the first axis is the step's."""

    achieved: NDArray[Any]
    desired: NDArray[Any]
    info: dict[str, NDArray[Any]]

    def first(self, count: int) -> "Asked":
        """Those of the first steps."""
        info = {key: column[:count] for key, column in self.info.items()}
        return Asked(self.achieved[:count], self.desired[:count], info)


def layout_questions(achieved: Field, info: Sequence[Field]) -> Questions:
    """Say where the parts of a question lie.

    Args:
        achieved: field of the achieved goal in a record; the new goal comes from there too.
        info: fields of the info.
    """
    fields = [(ACHIEVED, achieved), (DESIRED, achieved), *((INFO, field) for field in info)]
    lines, start = [], 0
    for source, field in fields:
        size = field.leaf.dtype.itemsize
        # Smaller items share a word, so that a step's are kept together.
        unit = size // WORD_BYTES if size >= WORD_BYTES else max(field.width, 1)
        start = whole_items(start, size)
        lines.append([source, field.offset, field.width, start, unit])
        start += field.width
    return Questions(fields, np.array(lines), start)


def view_questions(questions: Questions, asked: NDArray[np.uint32]) -> Asked:
    """See `asked` `[words, M]` as arrays `[M, …]`."""
    most = asked.shape[1]
    views = []
    for (_, (leaf, _, width)), line in zip(questions.fields, questions.table, strict=True):
        size = leaf.dtype.itemsize
        inner = [math.prod(leaf.shape[axis + 1 :]) * size for axis in range(len(leaf.shape))]
        apart = size >= WORD_BYTES
        strides = (
            (size, *(most * stride for stride in inner)) if apart else (width * WORD_BYTES, *inner)
        )
        at = int(line[START]) * most * WORD_BYTES
        views.append(np.ndarray((most, *leaf.shape), leaf.dtype, asked, at, strides))
    names = [field.leaf.path[-1] for _, field in questions.fields[2:]]
    return Asked(views[0], views[1], dict(zip(names, views[2:], strict=True)))


@kernel
def gather_questions(words, windows, b, table, asked, m):  # type: ignore[no-untyped-def]
    """Gather what the functions of hindsight are asked about the steps of window b.

    Args:
        words: `[L, R, W]`, the records.
        windows: of the batch.
        b: a window that has a new goal.
        table: `Questions.table`.
        asked: `[question words, at least M]`, filled.
        m: where in it the window's first step goes.

    Returns:
        Where the next window's goes.
    """
    steps, most = windows.steps[b], asked.shape[1]
    for line in range(table.shape[0]):
        source, word, width = table[line, SOURCE], table[line, WORD], table[line, WIDTH]
        start, unit = table[line, START], table[line, UNIT]
        is_goal = source == DESIRED
        lane = windows.goal_lane[b] if is_goal else windows.lane[b]
        place = windows.goal_place[b] if is_goal else windows.place[b]
        for i in range(steps):
            if not is_goal:
                place = wrap(windows.place[b] + i + (source == ACHIEVED), words.shape[1])
            at = start * most + (m + i) * unit
            origin = item_at(words, lane, place, word)
            if unit == 1:
                for item in range(width):
                    copy_item(asked, at + item * most, words, origin + item)
            else:
                for item in range(0, width, unit):
                    copy_items(asked, at + item * most, words, origin + item, unit)
    return m + steps
