"""The store: a ring of rows for each lane, and the index of the episodes in them.

Rows of a lane are numbered 0, 1, 2, … for ever; row `number` lies at `number % rows`. The number
names a row for good: once it is overwritten, its place belongs to another number.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel
from woodshed.replay.records import RecordLayout
from woodshed.replay.sum_tree import SumTree, make_tree, set_leaf, tree_bytes

TERMINATED, TRUNCATED, CUT = 1, 2, 4  # bits of `EpisodeIndex.ending`
OPEN = -1  # `EpisodeIndex.left` while the end of the episode is not known

OK, NOT_FINITE, NEXT_NOT_FINITE, NOT_CONTINUING = 0, 1, 2, 3  # what `append` answers


class EpisodeIndex(NamedTuple):
    """Which episode a row is in, where that starts and ends, and how it ended; all O(1).

    Attributes:
        step: `[L, R]` int32, steps since the episode's first row.
        left: `[L, R]` int32, steps to the episode's last row. `OPEN` while the episode is being
            written, but 0 in its newest row: a row can be sampled where `left` is not 0.
        ending: `[L, R]` uint8, how the episode ended with the transition of this row; bits, 0 for
            every transition that was not the last.
        newest: `[L]` int64, number of the newest row; -1 in an empty lane.
        sampleable: `[L]` int64, how many stored rows hold a transition.
        is_open: `[L]` bool, whether the newest row belongs to an unfinished episode.
    """

    step: NDArray[np.int32]
    left: NDArray[np.int32]
    ending: NDArray[np.uint8]
    newest: NDArray[np.int64]
    sampleable: NDArray[np.int64]
    is_open: NDArray[np.bool_]


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


def allocate(lanes: int, rows: int, layout: RecordLayout, *, prioritised: bool) -> Store:
    """Make an empty store. Memory that no row was written to yet is not resident."""
    index = EpisodeIndex(
        step=np.zeros((lanes, rows), np.int32),
        left=np.zeros((lanes, rows), np.int32),
        ending=np.zeros((lanes, rows), np.uint8),
        newest=np.full(lanes, -1, np.int64),
        sampleable=np.zeros(lanes, np.int64),
        is_open=np.zeros(lanes, np.bool_),
    )
    tree = make_tree(lanes * rows if prioritised else 0)
    return Store(np.empty((lanes, rows, layout.words), np.uint32), index, tree)


def expected_bytes(lanes: int, rows: int, layout: RecordLayout, *, prioritised: bool) -> int:
    """Bytes that `allocate` reserves."""
    index_row = 4 + 4 + 1
    index_lane = 8 + 8 + 1
    tree = tree_bytes(lanes * rows) if prioritised else 0
    return lanes * (rows * (4 * layout.words + index_row) + index_lane) + tree


@kernel
def oldest_row(episodes, lane):  # type: ignore[no-untyped-def]
    """Number of the oldest row that a lane still holds."""
    return max(0, episodes.newest[lane] + 1 - episodes.step.shape[1])


@kernel
def rows_left(episodes, lane, row):  # type: ignore[no-untyped-def]
    """Steps from a row to the last row of its episode: the newest one while that is open."""
    left = episodes.left[lane, row % episodes.left.shape[1]]
    return episodes.newest[lane] - row if left == OPEN else left


@kernel
def first_row(episodes, lane, row):  # type: ignore[no-untyped-def]
    """Number of the oldest stored row of the episode that a row is in."""
    start = row - episodes.step[lane, row % episodes.step.shape[1]]
    return max(start, oldest_row(episodes, lane))


@kernel
def row_at(episodes, lane, place):  # type: ignore[no-untyped-def]
    """Number of the newest row at a place of a lane's ring."""
    newest = episodes.newest[lane]
    return newest - (newest - place) % episodes.step.shape[1]


@kernel
def holds_transition(episodes, lane, row):  # type: ignore[no-untyped-def]
    """Whether a row is still stored, and has an action."""
    if row < oldest_row(episodes, lane) or row > episodes.newest[lane]:
        return False
    return episodes.left[lane, row % episodes.left.shape[1]] != 0


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
        if begins and episodes.is_open[lane]:
            newest = episodes.newest[lane] % words.shape[1]
            for word in range(observation_words):
                stored, given = words[lane, newest, word], record[m, word]
                zeros = exponent[word] and (stored | given) & 0x7FFFFFFF == 0  # of either sign
                if stored != given and not zeros:
                    return NOT_CONTINUING, m, word
    return OK, 0, 0


@kernel
def _push(words, episodes, tree, lane, observation, m, step):  # type: ignore[no-untyped-def]
    """Write observation m as the next row of a lane, over the oldest one where the ring is full.

    Only the first `observation.shape[1]` words of the record are given a value.
    """
    row = episodes.newest[lane] + 1
    place = row % words.shape[1]
    if row >= words.shape[1] and episodes.left[lane, place] != 0:
        episodes.sampleable[lane] -= 1
        if tree.nodes.size:
            set_leaf(tree, lane * words.shape[1] + place, 0.0)
    for word in range(observation.shape[1]):
        words[lane, place, word] = observation[m, word]
    episodes.step[lane, place] = step
    episodes.left[lane, place] = 0
    episodes.ending[lane, place] = 0
    episodes.newest[lane] = row


@kernel
def _close(episodes, lane):  # type: ignore[no-untyped-def]
    """End a lane's open episode: every row of it learns how far its last row is."""
    newest = episodes.newest[lane]
    for row in range(first_row(episodes, lane, newest), newest):
        episodes.left[lane, row % episodes.left.shape[1]] = newest - row
    episodes.is_open[lane] = False


@kernel
def append(store, record, following, ending, lane_of, exponent, new_leaf):  # type: ignore[no-untyped-def]
    """Write M transitions, or nothing at all.

    Args:
        store: the store.
        record: `[M, W]`, observation, action, reward and info of the step.
        following: `[M, observation words]`, the observation that it led to.
        ending: `[M]`, bits that say whether and how this step ends the episode.
        lane_of: `[M]`, the lane of each; -1 leaves it out. Of neighbours in one lane the later one
            begins where the earlier one led to.
        exponent: `[W]`, `RecordLayout.exponent_mask`.
        new_leaf: what the tree, where there is one, holds of a new transition.

    Returns:
        `OK, 0, 0`, or what is wrong, and in which transition and word.
    """
    words, episodes, tree = store
    problem = _check(words, episodes, record, following, lane_of, exponent)
    if problem[0] != OK:
        return problem
    n_rows = words.shape[1]
    observation_words = following.shape[1]
    for m in range(lane_of.size):
        lane = lane_of[m]
        if lane < 0:
            continue
        if not episodes.is_open[lane]:
            _push(words, episodes, tree, lane, record[:, :observation_words], m, np.int64(0))
            episodes.is_open[lane] = True
        place = episodes.newest[lane] % n_rows
        for word in range(observation_words, words.shape[2]):
            words[lane, place, word] = record[m, word]
        episodes.ending[lane, place] = ending[m]
        episodes.left[lane, place] = OPEN
        episodes.sampleable[lane] += 1
        if tree.nodes.size:
            set_leaf(tree, lane * n_rows + place, new_leaf)
        step_next = np.int64(episodes.step[lane, place] + 1)
        _push(words, episodes, tree, lane, following, m, step_next)
        if ending[m]:
            _close(episodes, lane)
    return problem


@kernel
def cut(episodes, mask):  # type: ignore[no-untyped-def]
    """End the open episodes of the lanes in `mask` `[L]`, as neither terminated nor truncated."""
    for lane in range(mask.size):
        if mask[lane] and episodes.is_open[lane]:
            last_transition = (episodes.newest[lane] - 1) % episodes.ending.shape[1]
            episodes.ending[lane, last_transition] = CUT
            _close(episodes, lane)
