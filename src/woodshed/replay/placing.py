"""Where the episodes of a saved replay go: into the same lanes or others."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.loading import Saved, saved_records
from woodshed.replay.saved import HIDDEN, LANE, ROWS
from woodshed.replay.segments import ring_pieces
from woodshed.replay.store import (
    CUT,
    ENDING_BITS,
    IS_OPEN,
    LEFT,
    LONGEST,
    NEWEST,
    NEWEST_PLACE,
    OPEN,
    SAMPLEABLE,
    STEP,
    Store,
)
from woodshed.replay.sum_tree import CHILDREN, add_up


class Placed(NamedTuple):
    """Where the episodes go."""

    lane: NDArray[np.int64]
    """`[episodes]`, the lane that each goes to; -1: it is left out."""
    first_row: NDArray[np.int64]
    """`[episodes]`, the number of its first row there."""
    newest: list[int]
    """Number of each lane's newest row."""
    rows: int
    """Rows that a lane needs at least."""
    same_lanes: bool
    """Whether each lane holds what it held; else open episodes are cut."""
    same_rows: bool
    """Whether each row has the number that it had, too."""


def place(saved: Saved, lanes: int, rows: int, capacity: int) -> Placed:
    """Say where the episodes go; see `ReplayBuffer.load`.

    Args:
        saved: what was read.
        lanes: of the replay that it is loaded into.
        rows: of each of its lanes.
        capacity: transitions that it is to hold.

    Raises:
        WoodshedError: when they are more than the capacity.
    """
    about, lengths = saved.about, saved.episodes[:, ROWS]
    transitions = int(np.maximum(lengths - 1 - saved.episodes[:, HIDDEN], 0).sum())
    same_lanes = lanes == len(about.newest)
    same_rows = same_lanes and rows == about.rows_per_lane
    if transitions > capacity and not same_rows:
        raise WoodshedError(
            f"{saved.folder} holds {transitions:,} transitions, more than the capacity of "
            f"{capacity:,}: make the replay larger"
        )
    lane, filled = np.full(len(lengths), -1), np.zeros(lanes, np.int64)
    rows_before = np.zeros(len(lengths), np.int64)
    for line in _by_age(saved):
        if not same_lanes and lengths[line] == 1:
            continue  # the last observation of an episode that is overwritten but for it
        lane[line] = saved.episodes[line, LANE] if same_lanes else filled.argmin()
        rows_before[line] = filled[lane[line]]
        filled[lane[line]] += lengths[line]
    newest = np.array(about.newest) if same_rows else filled - 1
    first_row = rows_before + (newest + 1 - filled)[lane]
    most = max(rows, int(filled.max()))
    return Placed(lane, first_row, newest.tolist(), most, same_lanes, same_rows)


def fill(store: Store, saved: Saved, placed: Placed, behind: int, new_leaf: float) -> None:
    """Write what was saved into an empty store.

    Args:
        store: changed.
        saved: what was read.
        placed: where it goes.
        behind: frames before an observation that are stacked with it.
        new_leaf: what the tree holds of a row that had no priority.

    Raises:
        WoodshedError: when a file is not any more what it was when it was read.
    """
    _fill_records(store, saved, placed)
    _fill_index(store, saved, placed, behind, new_leaf)


def _fill_records(store: Store, saved: Saved, placed: Placed) -> None:
    ends = np.cumsum(saved.episodes[:, ROWS])
    starts = ends - saved.episodes[:, ROWS]
    for before, words in saved_records(saved):
        after = before + len(words)
        first, stop = np.searchsorted(ends, before, "right"), np.searchsorted(starts, after)
        for line in range(first, stop):  # the episodes that have rows among these
            if placed.lane[line] < 0:
                continue
            start, end = max(before, int(starts[line])), min(after, int(ends[line]))
            moved = int(placed.first_row[line] - starts[line])
            ring, at = store.words[placed.lane[line]], start - before
            for piece in ring_pieces(ring, range(start + moved, end + moved)):
                piece[...] = words[at : at + len(piece)]
                at += len(piece)


def _fill_index(store: Store, saved: Saved, placed: Placed, behind: int, new_leaf: float) -> None:
    starts = np.concatenate([[0], np.cumsum(saved.episodes[:, ROWS])])
    marks, lanes = store.episodes
    rows = marks.shape[1]
    for line in np.flatnonzero(placed.lane >= 0):
        lane = placed.lane[line]
        _, length, first_step, hidden, ending, is_open = saved.episodes[line].tolist()
        if not placed.same_lanes:
            ending = CUT if is_open else ending
        at = (placed.first_row[line] + np.arange(length)) % rows
        still_open = is_open and placed.same_lanes
        left = np.full(length, OPEN) if still_open else np.arange(length - 1, -1, -1)
        left[-1] = 0
        lacking = behind if first_step > 0 or hidden > 0 else 0
        left[:lacking] = 0
        kept_first = first_step if placed.same_lanes else 0
        step = np.minimum(kept_first + np.arange(length), LONGEST - 1) << ENDING_BITS
        if length > 1:
            step[-2] |= ending
        marks[lane, at, LEFT], marks[lane, at, STEP] = left, step
        if store.tree.nodes.size:
            leaf = np.full(length, new_leaf)
            if saved.leaves is not None:
                leaf[hidden:] = saved.leaves[starts[line] : starts[line + 1]][hidden:]
            store.tree.nodes[lane * rows + at] = np.where(left != 0, leaf, 0.0)
        lanes[lane, SAMPLEABLE] += np.count_nonzero(left)
        lanes[lane, IS_OPEN] = int(still_open)
    lanes[:, NEWEST] = placed.newest
    lanes[:, NEWEST_PLACE] = np.where(lanes[:, NEWEST] >= 0, lanes[:, NEWEST] % rows, -1)
    if store.tree.nodes.size:
        add_up(store.tree, np.full(store.tree.nodes.size // CHILDREN, -1))


def _by_age(saved: Saved) -> list[int]:
    """Lines of the table, the oldest episodes first, by how many rows were written after them."""
    lane, length = saved.episodes[:, LANE], saved.episodes[:, ROWS]
    ends = np.cumsum(length)
    lane_ends = np.array([ends[lane == i][-1:].sum() for i in range(len(saved.about.newest))])
    order: list[int] = np.argsort(ends - lane_ends[lane], kind="stable").tolist()
    return order
