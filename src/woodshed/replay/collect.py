"""Collect: the arrays of a batch, copied out of the store once its windows are known.

A row of a batch is a run of words too, see `BatchLayout`; so the batch's arrays are views into one
buffer.
"""

import numpy as np

from woodshed.replay.batch import Batch
from woodshed.replay.batch_layout import COUNT, FRAMES, SOURCE, TARGET, BatchLayout
from woodshed.replay.kernel import kernel
from woodshed.replay.machine import copy_items, item_at, prefetch_words
from woodshed.replay.records import as_records
from woodshed.replay.store import wrap

MOST_FETCHED = 1024
"""Words of a window that are asked for ahead; the rest of an image the processor expects."""

AHEAD = 24
"""Windows that are on their way from memory while one is copied."""


@kernel
def copy_words(words, lane, place, first, count, out, b, start):  # type: ignore[no-untyped-def]
    """Copy words `first … first + count - 1` of a row's record to `out[b, start:]`.

    Args:
        words: `[L, R, W]`, the records.
        lane: of the row.
        place: of the row in its lane's ring.
        first: the first word to copy.
        count: how many.
        out: `[B, …]` words, contiguous.
        b: row of `out`.
        start: where in it.
    """
    copy_items(out, b * out.shape[1] + start, words, item_at(words, lane, place, first), count)


@kernel
def fetch_window(words, windows, b, numbers):  # type: ignore[no-untyped-def]
    """Ask the processor for what window b needs: its two ends, and of the steps between a part."""
    lane, place, steps = windows.lane[b], windows.place[b], windows.steps[b]
    relabelled = windows.goal_place[b] >= 0
    rows, seen = words.shape[1], min(numbers.observation_words, MOST_FETCHED)
    prefetch_words(words, lane, place, 0, min(words.shape[2], MOST_FETCHED))
    prefetch_words(words, lane, wrap(place + steps, rows), 0, seen)
    first = numbers.achieved if relabelled else numbers.reward
    count = numbers.goal_words if relabelled else 1
    for i in range(1, steps):
        prefetch_words(words, lane, wrap(place + i, rows), first, count)
    if relabelled:
        lane, place = windows.goal_lane[b], windows.goal_place[b]
        prefetch_words(words, lane, place, numbers.achieved, numbers.goal_words)


@kernel
def copy_observation(words, lane, place, since, runs, numbers, out, b, start):  # type: ignore[no-untyped-def]
    """Copy a row's observation to `out[b, start:]`, with the frames before it that are stacked.

    Args:
        words: `[L, R, W]`, the records.
        lane: of the row.
        place: of the row in its lane's ring.
        since: steps since the episode's first row; counts where frames are stacked.
        runs: `BatchLayout.runs`.
        numbers: `Numbers`.
        out: `[B, …]` words, contiguous.
        b: row of `out`.
        start: where in it.
    """
    if numbers.behind == 0:
        copy_words(words, lane, place, 0, numbers.observation_words, out, b, start)
        return
    for run in range(runs.shape[0]):
        source, count = runs[run, SOURCE], runs[run, COUNT]
        target = start + runs[run, TARGET]
        for back in range(runs[run, FRAMES] - 1, -1, -1):
            if back > since and numbers.zero_padding:
                for word in range(count):
                    out[b, target + word] = 0
            else:
                at = wrap(place - min(back, since), words.shape[1])
                copy_words(words, lane, at, source, count, out, b, target)
            target += count


@kernel
def copy_step(words, lane, place, since, runs, numbers, out, b):  # type: ignore[no-untyped-def]
    """Copy a row's observation and action to `out[b]`; for the arguments see `copy_observation`."""
    if numbers.behind == 0:  # in one run, as they are stored
        copy_words(words, lane, place, 0, numbers.row_action + numbers.action_words, out, b, 0)
        return
    copy_observation(words, lane, place, since, runs, numbers, out, b, 0)
    start, count = numbers.observation_words, numbers.action_words
    copy_words(words, lane, place, start, count, out, b, numbers.row_action)


@kernel
def copy_goal(words, windows, b, numbers, out, row, start):  # type: ignore[no-untyped-def]
    """Put the new goal of window b, if it has one, into an observation at `out[row, start:]`."""
    if windows.goal_place[b] >= 0:
        copy_words(
            words,
            windows.goal_lane[b],
            windows.goal_place[b],
            numbers.achieved,
            numbers.goal_words,
            out,
            row,
            start + numbers.row_goal,
        )


def blank_batch(layout: BatchLayout, batch: int) -> Batch:
    """A batch of zeros."""
    rows = as_records(np.zeros((batch, layout.words), np.uint32), layout.dtype)
    return Batch(
        observation=layout.view(rows),
        action=rows["action"],
        reward=np.zeros(batch, np.float32),
        discount=np.zeros(batch, np.float32),
        next_observation=layout.view(rows, following=True),
        weight=np.zeros(batch, np.float32),
        handle=np.zeros(batch, np.int64),
        steps=np.zeros(batch, np.int32),
        relabelled=np.zeros(batch, np.bool_),
    )
