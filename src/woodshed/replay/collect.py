"""Collect: the arrays of a batch, gathered once its windows are known."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.replay.batch import Batch
from woodshed.replay.gather import copy_rows, empty_words, view_blocks
from woodshed.replay.recipe import Recipe
from woodshed.replay.store import Store
from woodshed.replay.tree import unflatten
from woodshed.replay.windows import Windows


def collect(
    store: Store,
    recipe: Recipe,
    windows: Windows,
    reward: NDArray[np.float32],
    discount: NDArray[np.float32],
    weight: NDArray[np.float32],
) -> Batch:
    """Copy a batch out of the store: the start rows, the rows after the windows, the new goals.

    Args:
        store: only read.
        recipe: how the batch is made.
        windows: with their final number of steps.
        reward: `[B]` of the windows.
        discount: `[B]` of the windows.
        weight: `[B]` of the windows.
    """
    observation, goals, batch = recipe.layout.observation, recipe.goals, windows.row.size
    blocks = recipe.batch_blocks(batch)
    places = blocks.source, blocks.width, blocks.target
    next_block = len(observation) + 1  # the first one of the next observation
    row_next = windows.row + windows.steps
    out = empty_words(blocks)
    copy_rows(store.words, windows.lane, windows.row, places, 0, next_block, out)
    copy_rows(store.words, windows.lane, row_next, places, next_block, len(blocks.fields), out)
    if goals is not None:
        desired = observation.index(goals.desired)
        targets = blocks.target[desired], blocks.target[next_block + desired]
        copy_goals(store.words, windows, goals.achieved.offset, goals.achieved.width, targets, out)
    return _hang(
        recipe,
        out,
        reward=reward,
        discount=discount,
        weight=weight,
        handle=windows.row * store.words.shape[0] + windows.lane,
        steps=windows.steps,
        relabelled=windows.goal_row >= 0,
    )


def blank_batch(recipe: Recipe, batch: int) -> Batch:
    """A batch of zeros."""
    out = empty_words(recipe.batch_blocks(batch))
    out[:] = 0
    return _hang(
        recipe,
        out,
        reward=np.zeros(batch, np.float32),
        discount=np.zeros(batch, np.float32),
        weight=np.zeros(batch, np.float32),
        handle=np.zeros(batch, np.int64),
        steps=np.zeros(batch, np.int32),
        relabelled=np.zeros(batch, np.bool_),
    )


def _hang(
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
    """Hang gathered words and the rest into a batch."""
    batch = reward.size
    arrays = view_blocks(words, recipe.batch_blocks(batch), batch)
    leaves = [field.leaf for field in recipe.layout.observation]
    n = len(leaves)
    return Batch(
        observation=unflatten(leaves, arrays[:n]),
        action=arrays[n],
        reward=reward,
        discount=discount,
        next_observation=unflatten(leaves, arrays[n + 1 :]),
        weight=weight,
        handle=handle,
        steps=steps,
        relabelled=relabelled,
    )


@njit(nogil=True, cache=True)
def copy_goals(words, windows, source, width, targets, out):  # type: ignore[no-untyped-def]
    """Write the achieved goals of `windows.goal_row` over the desired ones.

    Args:
        words: `[L, R, W]`, the records.
        windows: the batch's windows.
        source: first word of the achieved goal in a record.
        width: its words.
        targets: first words of the desired goals' blocks, one or several.
        out: the buffer of words.
    """
    for b in range(windows.row.size):
        if windows.goal_row[b] >= 0:
            place = windows.goal_row[b] % words.shape[1]
            for word in range(width):
                goal = words[windows.goal_lane[b], place, source + word]
                for target in targets:
                    out[target + b * width + word] = goal
