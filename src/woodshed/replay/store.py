"""The store: a ring of rows for each lane, and the index of the episodes in them.

Rows of a lane are numbered 0, 1, 2, … for ever; row `number` lies at `number % rows`. The number
names a row for good: once it is overwritten, its place belongs to another number.
"""

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.kernel import kernel
from woodshed.replay.machine import copy_items, item_at
from woodshed.replay.memory import check_fits, empty_array
from woodshed.replay.records import RecordLayout
from woodshed.replay.sum_tree import SumTree, make_tree, set_leaf, tree_bytes

NEWEST, NEWEST_PLACE, SAMPLEABLE, IS_OPEN = range(4)  # columns of `EpisodeIndex.lanes`

# `EpisodeIndex.marks`. LEFT: steps to the episode's last row, `OPEN` while its end is not known; 0
# where a row cannot be sampled. STEP: steps since its first row, in the lowest bits how it ended.
LEFT, STEP = range(2)
OPEN = -1
TERMINATED, TRUNCATED, CUT = 1, 2, 4
ENDING_BITS, ENDING_MASK = 3, 7
LONGEST = 2**28
"""Rows that a lane can have. Steps are counted up to here: further back no row is stored."""

OK, NOT_FINITE, NEXT_NOT_FINITE, NOT_CONTINUING = 0, 1, 2, 3  # what `append` answers


class EpisodeIndex(NamedTuple):
    """Which episode a row is in, where that starts and ends, and how it ended; all O(1).

    Attributes:
        marks: `[L, R, 2]` int32, what is known of each row, side by side since it is read together;
            `rows_left`, `rows_since` and `ending_at` say it.
        lanes: `[L, 4]` int64; its columns are `NEWEST`, the number of the newest row, -1 in an
            empty lane; `NEWEST_PLACE`, where it lies; `SAMPLEABLE`, how many rows can be sampled;
            `IS_OPEN`, 1 while the newest row belongs to an unfinished episode.
    """

    marks: NDArray[np.int32]
    lanes: NDArray[np.int64]


class Store(NamedTuple):
    """The rows of all lanes. Kernels change the arrays in place.

    Attributes:
        words: `[L, R, words]` uint32, the records.
        episodes: the episodes in them.
        tree: a leaf for each row, what it is picked in proportion to; 0 where no transition is. No
            tree without priorities.
    """

    words: NDArray[np.uint32]
    episodes: EpisodeIndex
    tree: SumTree


StoreArrays: TypeAlias = tuple[NDArray[Any], ...]


def arrays_of(store: Store) -> StoreArrays:
    """The arrays of a store: what a kernel is handed, since a store itself takes 3 µs more."""
    return (store.words, *store.episodes, *store.tree)


@kernel
def store_of(arrays):  # type: ignore[no-untyped-def]
    """Put a store together again, inside of a kernel."""
    words, marks, lanes, nodes, offsets = arrays
    return Store(words, EpisodeIndex(marks, lanes), SumTree(nodes, offsets))


def allocate(
    lanes: int, rows: int, layout: RecordLayout, *, prioritised: bool, folder: Path | None = None
) -> Store:
    """Make an empty store. Memory that no row was written to yet is not resident.

    Args:
        lanes: L.
        rows: R, of each lane.
        layout: of the records.
        prioritised: whether there is a tree.
        folder: where the records lie in a scratch file; None: in memory.

    Raises:
        WoodshedError: when it does not fit.
    """
    what = f"a replay of {lanes * (rows - 1):,} transitions"
    records, rest = expected_bytes(lanes, rows, layout, prioritised=prioritised)
    check_fits(rest + (records if folder is None else 0), what)
    if lanes * rows >= 2**32 or rows >= LONGEST:
        raise WoodshedError(
            f"{lanes * rows:,} rows are too many, expected less than 2^32 over all environments "
            "and 2^28 in each: lower the capacity"
        )
    index = EpisodeIndex(np.zeros((lanes, rows, 2), np.int32), np.zeros((lanes, 4), np.int64))
    index.lanes[:, [NEWEST, NEWEST_PLACE]] = -1
    tree = make_tree(lanes * rows if prioritised else 0)
    return Store(empty_array((lanes, rows, layout.words), np.uint32, folder, what), index, tree)


def expected_bytes(
    lanes: int, rows: int, layout: RecordLayout, *, prioritised: bool
) -> tuple[int, int]:
    """Bytes that `allocate` reserves: of the records, of everything else."""
    index_row, index_lane = 2 * 4, 4 * 8
    tree = tree_bytes(lanes * rows) if prioritised else 0
    return lanes * rows * 4 * layout.words, lanes * (rows * index_row + index_lane) + tree


@kernel
def wrap(place, rows):  # type: ignore[no-untyped-def]
    """A place that was moved by up to a whole ring, either way: back into 0 … rows - 1.

    Kernels move places so, since a division for each row would cost more than the rest.
    """
    if place >= rows:
        return place - rows
    return place + rows if place < 0 else place


@kernel
def oldest_row(episodes, lane):  # type: ignore[no-untyped-def]
    """Number of the oldest row that a lane still holds."""
    return max(0, episodes.lanes[lane, NEWEST] + 1 - episodes.marks.shape[1])


def stored_rows(episodes: EpisodeIndex, lane: int) -> range:
    """Numbers of the rows that a lane holds."""
    return range(oldest_row(episodes, lane), int(episodes.lanes[lane, NEWEST]) + 1)


@kernel
def place_of(episodes, lane, row):  # type: ignore[no-untyped-def]
    """Where in its lane's ring a stored row lies."""
    back = episodes.lanes[lane, NEWEST] - row
    return wrap(episodes.lanes[lane, NEWEST_PLACE] - back, episodes.marks.shape[1])


@kernel
def row_at(episodes, lane, place):  # type: ignore[no-untyped-def]
    """Number of the newest row at a place of a lane's ring."""
    back = wrap(episodes.lanes[lane, NEWEST_PLACE] - place, episodes.marks.shape[1])
    return episodes.lanes[lane, NEWEST] - back


@kernel
def rows_left(episodes, lane, place):  # type: ignore[no-untyped-def]
    """Steps from a stored row to its episode's last one: the newest one while that is open."""
    left = episodes.marks[lane, place, LEFT]
    if left == OPEN:
        return episodes.lanes[lane, NEWEST] - row_at(episodes, lane, place)
    return np.int64(left)


@kernel
def rows_since(episodes, lane, place, row):  # type: ignore[no-untyped-def]
    """Steps to a stored row from the oldest stored one of its episode."""
    step = np.int64(episodes.marks[lane, place, STEP] >> ENDING_BITS)
    return min(step, row - oldest_row(episodes, lane))


@kernel
def ending_at(episodes, lane, place):  # type: ignore[no-untyped-def]
    """How the episode ended with the transition of a row: bits, 0 where it went on."""
    return episodes.marks[lane, place, STEP] & ENDING_MASK


@kernel
def has_transition(episodes, lane, place):  # type: ignore[no-untyped-def]
    """Whether the row at a place can be sampled: all but the last one of each episode can."""
    return episodes.marks[lane, place, LEFT] != 0


@kernel
def _check(words, episodes, record, following, lane_of, exponent):  # type: ignore[no-untyped-def]
    observation_words = following.shape[1]
    for m in range(lane_of.size):
        lane = lane_of[m]
        if lane < 0:
            continue
        for word in range(words.shape[2]):
            special = exponent[word]
            if special == 0:
                continue
            if record[m, word] & special == special:
                return NOT_FINITE, m, word
            if word < observation_words and following[m, word] & special == special:
                return NEXT_NOT_FINITE, m, word
        begins = m == 0 or lane_of[m - 1] != lane
        if begins and episodes.lanes[lane, IS_OPEN]:
            newest = episodes.lanes[lane, NEWEST_PLACE]
            for word in range(observation_words):
                stored, given = words[lane, newest, word], record[m, word]
                zeros = exponent[word] and (stored | given) & 0x7FFFFFFF == 0  # of either sign
                if stored != given and not zeros:
                    return NOT_CONTINUING, m, word
    return OK, 0, 0


@kernel
def forget(store, lane, place):  # type: ignore[no-untyped-def]
    """Make the row at a place one that cannot be sampled."""
    _, episodes, tree = store
    if has_transition(episodes, lane, place):
        episodes.marks[lane, place, LEFT] = 0
        episodes.lanes[lane, SAMPLEABLE] -= 1
        if tree.nodes.size:
            set_leaf(tree, lane * episodes.marks.shape[1] + place, 0.0)


@kernel
def _copy_in(words, lane, place, start, given, m, count):  # type: ignore[no-untyped-def]
    """Copy words `start … start + count - 1` of what is given at m into a record."""
    at = item_at(words, lane, place, start)
    copy_items(words, at, given, m * given.shape[1] + start, count)


@kernel
def _push(store, lane, given, m, observation_words, step, behind):  # type: ignore[no-untyped-def]
    """Write the next row of a lane, over the oldest one where the ring is full.

    Of what is given at m it takes the observation; the rest of the record is given no value.
    """
    words, episodes, _ = store
    marks, rows = episodes.marks, words.shape[1]
    place = wrap(episodes.lanes[lane, NEWEST_PLACE] + 1, rows)
    if episodes.lanes[lane, NEWEST] + 1 >= rows:
        forget(store, lane, place)
        for i in range(1, behind + 1):  # the rows of its episode that would look back at it
            later = wrap(place + i, rows)
            if marks[lane, later, STEP] >> ENDING_BITS >= i:
                forget(store, lane, later)
    _copy_in(words, lane, place, 0, given, m, observation_words)
    marks[lane, place, LEFT] = 0
    marks[lane, place, STEP] = min(step, LONGEST - 1) << ENDING_BITS
    episodes.lanes[lane, NEWEST] += 1
    episodes.lanes[lane, NEWEST_PLACE] = place


@kernel
def _close(episodes, lane):  # type: ignore[no-untyped-def]
    """End a lane's open episode: every row of it learns how far its last row is."""
    newest, rows = episodes.lanes[lane, NEWEST_PLACE], episodes.marks.shape[1]
    length = rows_since(episodes, lane, newest, episodes.lanes[lane, NEWEST])
    for back in range(1, length + 1):
        place = wrap(newest - back, rows)
        if episodes.marks[lane, place, LEFT] == OPEN:
            episodes.marks[lane, place, LEFT] = back
    episodes.lanes[lane, IS_OPEN] = 0


@kernel
def append(arrays, record, following, ending, lane_of, exponent, new_leaf, behind):  # type: ignore[no-untyped-def]
    """Write M transitions, or nothing at all.

    Args:
        arrays: of the store.
        record: `[M, W]`, observation, action, reward and info of the step.
        following: `[M, observation words]`, the observation that it led to.
        ending: `[M]`, bits that say whether and how this step ends the episode.
        lane_of: `[M]`, the lane of each; -1 leaves it out. Of neighbours in one lane the later one
            begins where the earlier one led to.
        exponent: `[W]`, `RecordLayout.exponent_mask`.
        new_leaf: what the tree, where there is one, holds of a new transition.
        behind: how many rows before a row must be stored for it to be sampled, as far as its
            episode has them.

    Returns:
        `OK, 0, 0`, or what is wrong, and in which transition and word.
    """
    store = store_of(arrays)
    words, episodes, tree = store
    marks, lanes = episodes
    problem = _check(words, episodes, record, following, lane_of, exponent)
    if problem[0] != OK:
        return problem
    observation_words = following.shape[1]
    for m in range(lane_of.size):
        lane = lane_of[m]
        if lane < 0:
            continue
        if not lanes[lane, IS_OPEN]:
            _push(store, lane, record, m, observation_words, np.int64(0), behind)
            lanes[lane, IS_OPEN] = 1
        place, start = lanes[lane, NEWEST_PLACE], observation_words
        _copy_in(words, lane, place, start, record, m, words.shape[2] - start)
        step = np.int64(marks[lane, place, STEP] >> ENDING_BITS)
        marks[lane, place, STEP] |= ending[m]
        marks[lane, place, LEFT] = OPEN
        lanes[lane, SAMPLEABLE] += 1
        if tree.nodes.size:
            set_leaf(tree, lane * words.shape[1] + place, new_leaf)
        _push(store, lane, following, m, observation_words, step + 1, behind)
        if ending[m]:
            _close(episodes, lane)
    return problem


@kernel
def cut(episodes, mask):  # type: ignore[no-untyped-def]
    """End the open episodes of the lanes in `mask` `[L]`, as neither terminated nor truncated."""
    for lane in range(mask.size):
        if mask[lane] and episodes.lanes[lane, IS_OPEN]:
            last = wrap(episodes.lanes[lane, NEWEST_PLACE] - 1, episodes.marks.shape[1])
            episodes.marks[lane, last, STEP] |= CUT
            _close(episodes, lane)
