"""Loading a saved replay, into the same lanes or others."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.records import RecordLayout
from woodshed.replay.saved import (
    ABOUT,
    ENDING,
    EPISODES,
    FIRST_STEP,
    HIDDEN,
    IS_OPEN,
    LANE,
    LEAVES,
    RECORDS,
    ROWS,
    About,
    damaged,
    read_about,
    read_array,
)
from woodshed.replay.saving import describe
from woodshed.replay.store import (
    CUT,
    ENDING_BITS,
    ENDING_MASK,
    LEFT,
    LONGEST,
    NEWEST,
    NEWEST_PLACE,
    OPEN,
    SAMPLEABLE,
    STEP,
    Store,
)
from woodshed.replay.store import IS_OPEN as LANE_IS_OPEN
from woodshed.replay.sum_tree import CHILDREN, add_up


class Saved(NamedTuple):
    """A saved replay whose every part was found to be right."""

    about: About
    records: NDArray[np.uint32]
    """`[rows, words]`"""
    episodes: NDArray[np.int64]
    """`[episodes, 6]`, see `saved`."""
    leaves: NDArray[np.float64] | None
    """`[rows]`, what the sum-tree held; None without priorities."""
    generator: np.random.Generator


class Placed(NamedTuple):
    """Where the episodes go."""

    order: list[list[int]]
    """For each lane its episodes, oldest first: lines of the table."""
    newest: list[int]
    """Number of each lane's newest row."""
    rows: int
    """Rows that a lane needs at least."""
    same_lanes: bool
    """Whether each lane holds what it held; else open episodes are cut."""


def read_saved(folder: Path, layout: RecordLayout) -> Saved:
    """Read a saved replay, and check all of it.

    Raises:
        WoodshedError: when a file is missing or damaged, or of other spaces.
    """
    about = read_about(folder)
    if about.fields != describe(layout):
        raise WoodshedError(
            f"{folder} was saved with other spaces: {_difference(about.fields, describe(layout))}"
        )
    records = read_array(folder, RECORDS, about, "<u4", 2)
    episodes = read_array(folder, EPISODES, about, "<i8", 2)
    leaves = None
    if about.alpha is not None:
        leaves = read_array(folder, LEAVES, about, "<f8", 1)
        if len(leaves) != len(records) or not (np.isfinite(leaves) & (leaves >= 0)).all():
            raise damaged(folder / about.name_of(LEAVES), "these are no priorities")
    if records.shape[1:] != (layout.words,):
        raise damaged(folder / about.name_of(RECORDS), f"a record has {records.shape[1]} words")
    _check_episodes(folder, about, episodes, len(records))
    generator = np.random.default_rng()
    try:
        generator.bit_generator.state = about.generator
    except Exception as error:  # numpy raises several kinds for foreign states
        raise damaged(folder / ABOUT, f"its generator is none: {error}") from None
    # numpy cuts what does not fit, and takes any number for a truth.
    kept = generator.bit_generator.state == about.generator
    if not kept or about.generator["has_uint32"] not in (0, 1):
        raise damaged(folder / ABOUT, "its generator is none")
    return Saved(about, records, episodes, leaves, generator)


def place(saved: Saved, folder: Path, lanes: int, rows: int, capacity: int) -> Placed:
    """Say where the episodes go; see `ReplayBuffer.load`.

    Args:
        saved: what was read.
        folder: for messages.
        lanes: of the replay that it is loaded into.
        rows: of each of its lanes.
        capacity: transitions that it is to hold.

    Raises:
        WoodshedError: when they are more than the capacity.
    """
    about, episodes = saved.about, saved.episodes
    transitions = int(np.maximum(episodes[:, ROWS] - 1 - episodes[:, HIDDEN], 0).sum())
    same_lanes = lanes == len(about.newest)
    if same_lanes and rows == about.rows_per_lane:
        order = [np.flatnonzero(episodes[:, LANE] == lane).tolist() for lane in range(lanes)]
        return Placed(order, about.newest, rows, same_lanes)
    if transitions > capacity:
        raise WoodshedError(
            f"{folder} holds {transitions:,} transitions, more than the capacity of {capacity:,}: "
            "make the replay larger"
        )
    order, filled = [[] for _ in range(lanes)], np.zeros(lanes, np.int64)
    for line in _by_age(saved):
        if not same_lanes and episodes[line, ROWS] == 1:
            continue  # the last observation of an episode that is overwritten but for it
        lane = int(episodes[line, LANE] if same_lanes else filled.argmin())
        order[lane].append(line)
        filled[lane] += episodes[line, ROWS]
    return Placed(order, (filled - 1).tolist(), max(rows, int(filled.max())), same_lanes)


def fill(store: Store, saved: Saved, placed: Placed, behind: int, new_leaf: float) -> None:
    """Write what was saved into an empty store.

    Args:
        store: changed.
        saved: what was read.
        placed: where it goes.
        behind: frames before an observation that are stacked with it.
        new_leaf: what the tree holds of a row that had no priority.
    """
    starts = np.concatenate([[0], np.cumsum(saved.episodes[:, ROWS])])
    marks, lanes = store.episodes
    rows = store.words.shape[1]
    for lane, lines in enumerate(placed.order):
        count = int(saved.episodes[lines, ROWS].sum())
        number = placed.newest[lane] + 1 - count
        for line in lines:
            _, length, first_step, hidden, ending, is_open = saved.episodes[line].tolist()
            if not placed.same_lanes:
                ending = CUT if is_open else ending
            at = (number + np.arange(length)) % rows
            number += length
            source = slice(starts[line], starts[line + 1])
            store.words[lane, at] = saved.records[source]
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
                    leaf[hidden:] = saved.leaves[source][hidden:]
                store.tree.nodes[lane * rows + at] = np.where(left != 0, leaf, 0.0)
            lanes[lane, SAMPLEABLE] += np.count_nonzero(left)
            lanes[lane, LANE_IS_OPEN] = int(still_open)
        lanes[lane, NEWEST] = placed.newest[lane]
        lanes[lane, NEWEST_PLACE] = placed.newest[lane] % rows if placed.newest[lane] >= 0 else -1
    if store.tree.nodes.size:
        add_up(store.tree, np.full(store.tree.nodes.size // CHILDREN, -1))


def _check_episodes(folder: Path, about: About, table: NDArray[np.int64], rows: int) -> None:
    """Check that the table has a meaning: the kernels rely on it."""
    path = folder / about.name_of(EPISODES)
    if table.shape[1] != 6:
        raise damaged(path, f"it has {table.shape[1]} columns")
    lane, length, ending, is_open = (table[:, i] for i in (LANE, ROWS, ENDING, IS_OPEN))
    last = np.append(lane[1:] != lane[:-1], True)[: len(lane)]
    meant = (
        np.all(np.diff(lane) >= 0)
        and np.all((lane >= 0) & (lane < len(about.newest)))
        and np.all((length >= 1) & (length <= rows))
        and int(length.sum()) == rows
        and np.all((table[:, FIRST_STEP] >= 0) & (table[:, FIRST_STEP] < LONGEST))
        and np.all((table[:, HIDDEN] >= 0) & (table[:, HIDDEN] < length))
        and np.all((ending >= 0) & (ending <= ENDING_MASK))
        and np.all((is_open == 0) | ((is_open == 1) & last & (ending == 0) & (length > 1)))
        and np.all((ending > 0) | (is_open == 1) | (length == 1))
    )
    if not meant:
        raise damaged(path, "its numbers have no meaning")
    stored = np.bincount(lane, length, len(about.newest)).astype(np.int64).tolist()
    full = [min(newest + 1, about.rows_per_lane) for newest in about.newest]
    if stored != full or about.rows_per_lane >= LONGEST:
        raise damaged(folder / ABOUT, "it counts other rows than there are")


def _by_age(saved: Saved) -> list[int]:
    """Lines of the table, the oldest episodes first, by how many rows were written after them."""
    lane, length = saved.episodes[:, LANE], saved.episodes[:, ROWS]
    ends = np.cumsum(length)
    lane_ends = np.array([ends[lane == i][-1:].sum() for i in range(len(saved.about.newest))])
    order: list[int] = np.argsort(ends - lane_ends[lane], kind="stable").tolist()
    return order


def _difference(theirs: list[list[object]], ours: list[list[object]]) -> str:
    """The first leaf that is not the same, in words."""
    for saved, here in zip(theirs, ours, strict=False):
        if saved != here:
            return f"{saved} there, {here} here"
    longer, where = (theirs, "there") if len(theirs) > len(ours) else (ours, "here")
    return f"{longer[min(len(theirs), len(ours))]} only {where}"
