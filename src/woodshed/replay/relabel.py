"""Relabel, second half: rewards and terminations of the windows that have a new goal."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.replay.gather import Blocks, copy_rows, empty_words, view_blocks
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.rewards import call
from woodshed.replay.store import TERMINATED, Store
from woodshed.replay.windows import Windows


class Relabelled(NamedTuple):
    """What hindsight says of the M steps of all relabelled windows, one window after the other.

    Attributes:
        first: `[B]` int64, the window's first step in the arrays below; -1 with its original goal.
        reward: `[M]` float64.
        terminated: `[M]` bool.
    """

    first: NDArray[np.int64]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]


class Steps(NamedTuple):
    """The M steps of all relabelled windows, as `[M]` int64 arrays.

    Attributes:
        lane: of the step.
        row: number of its row.
        row_next: number of the row that it led to.
        goal_lane: where its window's new goal was achieved.
        goal_row: number of the row where it was.
    """

    lane: NDArray[np.int64]
    row: NDArray[np.int64]
    row_next: NDArray[np.int64]
    goal_lane: NDArray[np.int64]
    goal_row: NDArray[np.int64]


def nothing_relabelled(batch: int) -> Relabelled:
    """Every window keeps its goal."""
    return Relabelled(np.full(batch, -1, np.int64), np.empty(0), np.empty(0, np.bool_))


def relabel(store: Store, windows: Windows, hindsight: Hindsight, blocks: Blocks) -> Relabelled:
    """Recompute every step of the relabelled windows with the functions of `hindsight`.

    Args:
        store: only read.
        windows: with the goals that were drawn for them.
        hindsight: its functions work on batches.
        blocks: for at least M rows: achieved goal, new goal, then the info keys.
    """
    first = np.empty(windows.row.size, np.int64)
    table = np.empty((5, blocks.batch), np.int64)
    count = unroll(windows, first, table)
    steps = Steps(*table[:, :count])
    places = blocks.source, blocks.width, blocks.target
    out = empty_words(blocks)
    copy_rows(store.words, steps.lane, steps.row_next, places, 0, 1, out)
    copy_rows(store.words, steps.goal_lane, steps.goal_row, places, 1, 2, out)
    copy_rows(store.words, steps.lane, steps.row, places, 2, len(blocks.fields), out)
    achieved, desired, *columns = view_blocks(out, blocks, count)
    keys = [field.leaf.path[-1] for field in blocks.fields[2:]]
    info = dict(zip(keys, columns, strict=True))
    reward = call(hindsight.compute_reward, "compute_reward", achieved, desired, info)
    if hindsight.compute_terminated is None:
        ending = store.episodes.ending
        terminated = ending[steps.lane, steps.row % ending.shape[1]] & TERMINATED != 0
    else:
        name = "compute_terminated"
        terminated = call(hindsight.compute_terminated, name, achieved, desired, info) != 0
    return Relabelled(first, reward, terminated)


@njit(nogil=True, cache=True)
def unroll(windows, first, steps):  # type: ignore[no-untyped-def]
    """List the steps of all relabelled windows.

    Args:
        windows: the batch's windows.
        first: `[B]`, filled as `Relabelled.first`.
        steps: `[5, at least M]`, filled with the rows of `Steps`.

    Returns:
        M.
    """
    m = 0
    for b in range(windows.row.size):
        first[b] = -1
        if windows.goal_row[b] < 0:
            continue
        first[b] = m
        for i in range(windows.steps[b]):
            steps[0, m] = windows.lane[b]
            steps[1, m] = windows.row[b] + i
            steps[2, m] = windows.row[b] + i + 1
            steps[3, m] = windows.goal_lane[b]
            steps[4, m] = windows.goal_row[b]
            m += 1
    return m
