"""Priorities: rows are picked in proportion to what they had to teach (Schaul et al. 2016)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.kernel import kernel
from woodshed.replay.store import holds_transition, row_at
from woodshed.replay.stream import unit
from woodshed.replay.sum_tree import find_leaf, set_leaf


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


def leaves_of(
    handle: NDArray[Any], priority: NDArray[np.float64], alpha: float, rows: int
) -> NDArray[np.float64]:
    """What the sum-tree is to hold for the priorities that a learner gives: their power alpha.

    A priority of 0 stays 0, whatever the power.

    Args:
        handle: `[B]` whole numbers.
        priority: `[B]`.
        alpha: the exponent.
        rows: of the whole store; the sum of so many must be finite.

    Raises:
        WoodshedError: for other shapes, or a number that is no priority.
    """
    if handle.ndim != 1 or handle.dtype.kind not in "iu":
        raise WoodshedError(
            f"handle is {handle.dtype} of shape {handle.shape}, expected a batch's handle"
        )
    if priority.shape != handle.shape:
        raise WoodshedError(
            f"priority has shape {priority.shape}, expected {handle.shape} as handle"
        )
    bad = ~(np.isfinite(priority) & (priority >= 0))
    if bad.any():
        raise WoodshedError(f"a priority is {priority[bad][0]}, expected finite and at least 0")
    with np.errstate(over="ignore"):
        leaves = np.where(priority > 0, priority**alpha, 0.0)
        too_large = ~np.isfinite(leaves * rows)
    if too_large.any():
        raise WoodshedError(
            f"a priority is {priority[too_large][0]}, too large: to the power of {alpha}, {rows:,} "
            "of them have no finite sum"
        )
    return leaves


def importance_weights(
    chance: NDArray[np.float64], stored: int, beta: float
) -> NDArray[np.float32]:
    """(N P)^-beta over the largest of them, `[B]`.

    Args:
        chance: `[B]`, P of each picked row.
        stored: N, the transitions that there are.
        beta: 0 leaves all at 1.
    """
    weight = (stored * chance) ** -beta
    scaled: NDArray[np.float32] = (weight / weight.max()).astype(np.float32)
    return scaled


@kernel
def pick_prioritised(episodes, tree, stream, windows, chance):  # type: ignore[no-untyped-def]
    """Fill `lane` and `row` of the windows, and `chance` `[B]` with each row's probability.

    The draws are independent: in order of the tree, as stratified ones are, the first updates of
    a large sample would see the first lanes only.

    Returns:
        False where every priority is 0.
    """
    total = tree.nodes[-1]
    if total <= 0:
        return False
    rows = episodes.left.shape[1]
    for b in range(windows.row.size):
        leaf = find_leaf(tree, unit(stream) * total)
        lane = leaf // rows
        windows.lane[b] = lane
        windows.row[b] = row_at(episodes, lane, leaf % rows)
        chance[b] = tree.nodes[leaf] / total
    return True


@kernel
def give_priorities(episodes, tree, handle, value):  # type: ignore[no-untyped-def]
    """Set the leaves of the rows that are still stored; how many were not."""
    lanes, rows = episodes.left.shape
    dropped = 0
    for i in range(handle.size):
        lane, row = handle[i] % lanes, handle[i] // lanes
        if holds_transition(episodes, lane, row):
            set_leaf(tree, lane * rows + row % rows, value[i])
        else:
            dropped += 1
    return dropped
