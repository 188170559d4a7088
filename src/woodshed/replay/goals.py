"""Relabel, first half: which windows get a new goal, and from which row."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.replay.hindsight import STRATEGIES, Hindsight
from woodshed.replay.pick import pick_one
from woodshed.replay.store import first_row, rows_left
from woodshed.replay.stream import below, unit

FUTURE, FINAL, EPISODE, RANDOM = (
    STRATEGIES.index(name) for name in ("future", "final", "episode", "random")
)


def cumulative_probabilities(hindsight: Hindsight) -> NDArray[np.float64]:
    """`[strategies]`: probability of each strategy or one before it, in the order of the codes."""
    shares = hindsight.probabilities
    return np.cumsum([shares.get(name, 0.0) for name in STRATEGIES])


@njit(nogil=True, cache=True)
def draw_goals(episodes, before, stream, windows, cumulative):  # type: ignore[no-untyped-def]
    """Fill `goal_lane` and `goal_row` of the windows that are relabelled.

    A goal is one that was achieved *after* a transition: with start row t and last row e of the
    episode, `future` draws uniformly from t+1 … e, `final` takes e, `episode` draws from the first
    row's successor … e, `random` takes the row after any stored transition. `before` is from
    `count_rows`.
    """
    for b in range(windows.row.size):
        u = unit(stream)
        strategy = 0
        while strategy < cumulative.size and u >= cumulative[strategy]:
            strategy += 1
        if strategy == cumulative.size:
            continue
        lane, row = windows.lane[b], windows.row[b]
        last = row + rows_left(episodes, lane, row)
        if strategy == FUTURE:
            goal = row + 1 + below(stream, last - row)
        elif strategy == FINAL:
            goal = last
        elif strategy == EPISODE:
            first = first_row(episodes, lane, row)
            goal = first + 1 + below(stream, last - first)
        else:
            lane, transition = pick_one(episodes, before, stream)
            goal = transition + 1
        windows.goal_lane[b], windows.goal_row[b] = lane, goal
