"""Relabel, first half: which windows get a new goal, and from which row."""

import math

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.hindsight import STRATEGIES, Hindsight
from woodshed.replay.kernel import kernel
from woodshed.replay.pick import pick_one
from woodshed.replay.store import rows_left, rows_since, wrap
from woodshed.replay.stream import below, unit

FUTURE, GEOMETRIC, FINAL, EPISODE, RANDOM = range(len(STRATEGIES))  # in the order of STRATEGIES


def cumulative_probabilities(hindsight: Hindsight) -> NDArray[np.float64]:
    """`[strategies]`: probability of each strategy or one before it, in the order of the codes.

    Where no window keeps its goal, the last strategy's is exactly 1, however the shares round.
    """
    shares = hindsight.probabilities
    cumulative = np.cumsum([shares.get(name, 0.0) for name in STRATEGIES])
    if shares.get("original", 0.0) == 0:
        cumulative[cumulative == cumulative[-1]] = 1.0
    return cumulative


@kernel
def draw_goals(episodes, before, stream, windows, cumulative, log_discount):  # type: ignore[no-untyped-def]
    """Fill `goal_lane` and `goal_place`, -1 in windows that keep their goal.

    A goal is one that was achieved *after* a transition. With start row t and last row e of the
    episode, `future` draws uniformly from t+1 … e; `geometric` from the same rows with weights
    discount^(row - t); `final` takes e; `episode` draws from first+1 … e, where first is the oldest
    row of the episode; `random` takes the row after any transition that can be sampled.

    Args:
        episodes: the episode index.
        before: from `count_rows`.
        stream: of random numbers.
        windows: with lane, row and place.
        cumulative: from `cumulative_probabilities`; empty without hindsight.
        log_discount: logarithm of `geometric_discount`.
    """
    rows = episodes.marks.shape[1]
    for b in range(windows.row.size):
        u = unit(stream) if cumulative.size else 0.0
        strategy = 0
        while strategy < cumulative.size and u >= cumulative[strategy]:
            strategy += 1
        if strategy == cumulative.size:
            windows.goal_place[b] = -1
            continue
        lane, place = windows.lane[b], windows.place[b]
        left = rows_left(episodes, lane, place)
        if strategy == FUTURE:
            ahead = 1 + below(stream, left)
        elif strategy == GEOMETRIC:
            ahead = 1 + _geometric(stream, left, log_discount)
        elif strategy == FINAL:
            ahead = left
        elif strategy == EPISODE:
            since = rows_since(episodes, lane, place, windows.row[b])
            ahead = 1 + below(stream, since + left) - since
        else:
            lane, _, place = pick_one(episodes, before, stream)
            ahead = np.int64(1)
        windows.goal_lane[b], windows.goal_place[b] = lane, wrap(place + ahead, rows)


@kernel
def _geometric(stream, n, log_discount):  # type: ignore[no-untyped-def]
    """A number i of 0 … n-1 with probability proportional to discount^i: the inverse of its sum.

    P(at most i) = (1 - discount^(i+1)) / (1 - discount^n).
    """
    u = unit(stream)
    i = int(math.log1p(u * math.expm1(n * log_discount)) / log_discount)
    return min(i, n - 1)
