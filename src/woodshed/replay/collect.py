"""Collect: the arrays of a batch, copied out of the store once its windows are known.

The rows of a batch are records too: the start row's, then the observation after the window. So a
row is copied in two runs of words, and the batch's arrays are views into one buffer.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.batch import Batch
from woodshed.replay.kernel import kernel
from woodshed.replay.recipe import Recipe
from woodshed.replay.records import RecordLayout, as_records
from woodshed.replay.tree import Tree, unflatten


@kernel
def copy_words(words, lane, row, first, count, out, b, start):  # type: ignore[no-untyped-def]
    """Copy words `first … first + count - 1` of a row's record to `out[b, start:]`.

    Args:
        words: `[L, R, W]`, the records.
        lane: of the row.
        row: its number.
        first: the first word to copy.
        count: how many.
        out: `[B, …]` words.
        b: row of `out`.
        start: where in it.
    """
    place = row % words.shape[1]
    for word in range(count):
        out[b, start + word] = words[lane, place, first + word]


@kernel
def copy_rows(words, lane, row, out):  # type: ignore[no-untyped-def]
    """Copy the records of some rows to `out` `[B, W]`."""
    for b in range(row.size):
        copy_words(words, lane[b], row[b], 0, words.shape[2], out, b, 0)


@kernel
def copy_windows(words, windows, observation_words, goals, out, handle, relabelled):  # type: ignore[no-untyped-def]
    """Copy start rows, the observations after the windows, and the new goals.

    Args:
        words: `[L, R, W]`, the records.
        windows: with their final number of steps.
        observation_words: length of an observation.
        goals: `GoalPlaces`.
        out: `[B, W + observation_words]` uint32, filled.
        handle: `[B]`, filled.
        relabelled: `[B]`, filled.
    """
    lanes, _, record_words = words.shape
    achieved, desired, width = goals
    for b in range(windows.row.size):
        lane, row, goal_row = windows.lane[b], windows.row[b], windows.goal_row[b]
        copy_words(words, lane, row, 0, record_words, out, b, 0)
        row_next = row + windows.steps[b]
        copy_words(words, lane, row_next, 0, observation_words, out, b, record_words)
        handle[b] = row * lanes + lane
        relabelled[b] = goal_row >= 0
        if goal_row >= 0:
            goal_lane = windows.goal_lane[b]
            copy_words(words, goal_lane, goal_row, achieved, width, out, b, desired)
            copy_words(words, goal_lane, goal_row, achieved, width, out, b, record_words + desired)


def view_observation(layout: RecordLayout, records: NDArray[Any], following: bool = False) -> Tree:
    """The observations in records `[...]` as a tree; `following` the ones after the windows."""
    names = layout.following_names if following else layout.observation_names
    return unflatten(layout.observation_leaves, [records[name] for name in names])


def view_batch(
    recipe: Recipe,
    words: NDArray[np.uint32],
    *,
    reward: NDArray[np.float32],
    discount: NDArray[np.float32],
    weight: NDArray[np.float32],
    handle: NDArray[np.int64],
    steps: NDArray[np.int32],
    relabelled: NDArray[np.bool_],
) -> Batch:
    """See copied rows `[B, W + observation words]` as a batch, with what was computed for it."""
    layout = recipe.layout
    records = as_records(words, layout.batch_dtype)
    return Batch(
        observation=view_observation(layout, records),
        action=records["action"],
        reward=reward,
        discount=discount,
        next_observation=view_observation(layout, records, following=True),
        weight=weight,
        handle=handle,
        steps=steps,
        relabelled=relabelled,
    )


def blank_batch(recipe: Recipe, batch: int) -> Batch:
    """A batch of zeros."""
    layout = recipe.layout
    return view_batch(
        recipe,
        np.zeros((batch, layout.words + layout.observation_words), np.uint32),
        reward=np.zeros(batch, np.float32),
        discount=np.zeros(batch, np.float32),
        weight=np.zeros(batch, np.float32),
        handle=np.zeros(batch, np.int64),
        steps=np.zeros(batch, np.int32),
        relabelled=np.zeros(batch, np.bool_),
    )
