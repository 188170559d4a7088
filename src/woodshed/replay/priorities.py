"""Priorities: rows are picked in proportion to what they had to teach (Schaul et al. 2016)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.kernel import kernel
from woodshed.replay.machine import prefetch_marks
from woodshed.replay.store import (
    NEWEST,
    Store,
    arrays_of,
    has_transition,
    oldest_row,
    place_of,
    row_at,
    store_of,
)
from woodshed.replay.stream import unit
from woodshed.replay.sum_tree import add_up, find_leaves


@dataclass(frozen=True)
class Priorities:
    """Proportional priorities; a row's chance is priority^alpha over the sum of all.

    New rows get the largest priority that was given so far, 1 at first. Weights make up for the
    uneven chances: (N P)^-beta, over the largest of the batch.

    Raises:
        WoodshedError: for a number out of range.
    """

    alpha: float = 0.6
    """How much priorities count: 0 is uniform, 1 proportional."""
    beta: float = 0.4
    """How much of the bias the weights make up for: 1 is all."""
    beta_end: float = 1.0
    """What beta comes to."""
    beta_steps: int = 1_000_000
    """Transitions written until then; beta goes there in a straight line."""

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "beta_end"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise WoodshedError(f"{name} is {value}, expected a finite number of at least 0")
        if self.beta_steps < 1:
            raise WoodshedError(f"beta_steps is {self.beta_steps}, expected at least 1")

    def beta_after(self, transitions: int) -> float:
        """Beta after so many transitions were written."""
        share = min(1.0, transitions / self.beta_steps)
        return self.beta + share * (self.beta_end - self.beta)


def update(
    store: Store, alpha: float, handle: NDArray[Any], priority: NDArray[Any]
) -> tuple[int, float]:
    """Give rows their priorities; see `ReplayBuffer.update_priorities`.

    Args:
        store: its tree is changed.
        alpha: the exponent.
        handle: `[B]`.
        priority: `[B]`.

    Returns:
        How many rows were overwritten, and the largest priority.

    Raises:
        WoodshedError: for other shapes, or a number that is no priority. Nothing is given then.
    """
    named, given = np.asarray(handle), np.asarray(priority, np.float64)
    if named.ndim != 1 or named.dtype.kind not in "iu":
        raise WoodshedError(
            f"handle is {named.dtype} of shape {named.shape}, expected a batch's handle"
        )
    if given.shape != named.shape:
        raise WoodshedError(f"priority has shape {given.shape}, expected {named.shape} as handle")
    dropped, largest = give_priorities(
        arrays_of(store), named.astype(np.int64), given.copy(), alpha
    )
    if dropped >= 0:
        return dropped, largest
    bad = given[-1 - dropped]
    if not (np.isfinite(bad) and bad >= 0):
        raise WoodshedError(f"a priority is {bad}, expected finite and at least 0")
    rows = store.episodes.marks.shape[0] * store.episodes.marks.shape[1]
    raise WoodshedError(
        f"a priority is {bad}, too large: to the power of {alpha}, {rows:,} of them have no finite "
        "sum"
    )


@kernel
def pick_prioritised(episodes, tree, stream, windows, u, beta, weight):  # type: ignore[no-untyped-def]
    """Fill `lane`, `row` and `place` of the windows, and `weight` `[B]`.

    The draws are independent: in order of the tree, as stratified ones are, the first updates of
    a large sample would see the first lanes only. A weight is (N P)^-beta over the largest of the
    batch, which is (least P / P)^beta.

    Args:
        episodes: the episode index.
        tree: the priorities.
        stream: of random numbers.
        windows: filled.
        u: `[B]` float64, room.
        beta: exponent of the weights; 0 leaves all at 1.
        weight: `[B]`, filled.

    Returns:
        False where every priority is 0.
    """
    total = tree.nodes[-1]
    if total <= 0:
        return False
    for b in range(u.size):
        u[b] = unit(stream) * total
    leaf = windows.place
    find_leaves(tree, u, leaf)
    least, rows = total, episodes.marks.shape[1]
    for b in range(u.size):
        u[b] = tree.nodes[leaf[b]]
        least = min(least, u[b])
        lane = leaf[b] // rows
        windows.lane[b], windows.place[b] = lane, leaf[b] - lane * rows
        windows.row[b] = row_at(episodes, lane, windows.place[b])
        prefetch_marks(episodes, lane, windows.place[b])
    for b in range(u.size):
        weight[b] = (least / u[b]) ** beta
    return True


@kernel
def give_priorities(arrays, handle, priority, alpha):  # type: ignore[no-untyped-def]
    """Give rows that are still stored their priorities, or none where one is no priority.

    A priority of 0 stays 0, whatever the power.

    Args:
        arrays: of the store.
        handle: `[B]` int64; overwritten.
        priority: `[B]` float64; overwritten.
        alpha: the exponent.

    Returns:
        How many rows were overwritten, and the largest priority; -1 - i, and priority i, where that
        is none.
    """
    _, episodes, tree = store_of(arrays)
    marks, lanes = episodes
    n_lanes, rows, _ = marks.shape
    largest = 0.0
    for i in range(handle.size):
        largest = max(largest, priority[i])
        leaf = priority[i] ** alpha if priority[i] > 0 else 0.0
        if not (priority[i] >= 0 and leaf * (n_lanes * rows) < np.inf):
            return -1 - i, priority[i]
        priority[i] = leaf
        row = handle[i] // n_lanes
        lane = handle[i] - row * n_lanes
        stored = oldest_row(episodes, lane) <= row <= lanes[lane, NEWEST]
        handle[i] = lane * rows + place_of(episodes, lane, row) if stored else -1
        prefetch_marks(episodes, lane, handle[i] - lane * rows if stored else 0)
    dropped = 0
    for i in range(handle.size):
        lane = handle[i] // rows
        if handle[i] >= 0 and has_transition(episodes, lane, handle[i] - lane * rows):
            tree.nodes[handle[i]] = priority[i]
        else:
            handle[i] = -1
            dropped += 1
    add_up(tree, handle)
    return dropped, largest
