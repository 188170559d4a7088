"""All that a sample draws at random: start rows, lengths of windows, goals."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.goals import draw_goals
from woodshed.replay.pick import count_rows, pick_uniform
from woodshed.replay.priorities import importance_weights, pick_prioritised
from woodshed.replay.recipe import Recipe
from woodshed.replay.store import Store
from woodshed.replay.stream import Stream, open_stream
from woodshed.replay.windows import Windows, empty_windows, measure

_NO_STRATEGY = np.empty(0, np.float64)


class Drawn(NamedTuple):
    """What was drawn for a batch."""

    windows: Windows
    weight: NDArray[np.float32]
    """`[B]` importance weights."""
    stream: Stream
    """Where more random numbers come from."""


def draw(
    store: Store, recipe: Recipe, generator: np.random.Generator, batch: int, beta: float
) -> Drawn:
    """Draw the windows of a batch.

    Args:
        store: only read.
        recipe: how the batch is made.
        generator: gives one number.
        batch: B.
        beta: exponent of the importance weights; without priorities it does nothing.

    Raises:
        WoodshedError: when nothing can be sampled.
    """
    windows, chance, stream = empty_windows(batch), np.empty(batch), open_stream(generator)
    goals = recipe.goals
    shares = (_NO_STRATEGY, 0.0) if goals is None else (goals.cumulative, goals.log_discount)
    stored = _draw(store, stream, windows, chance, *recipe.n_step, *shares)
    if stored == 0:
        raise WoodshedError("the replay is empty: add a step before sampling")
    if stored < 0:
        raise WoodshedError("every stored transition has priority 0: nothing can be picked")
    if recipe.priorities is None:
        return Drawn(windows, np.ones(batch, np.float32), stream)
    return Drawn(windows, importance_weights(chance, stored, beta), stream)


@njit(nogil=True, cache=True)
def _draw(store, stream, windows, chance, low, high, cumulative, log_discount):  # type: ignore[no-untyped-def]
    """Draw in one kernel, since each call of one costs microseconds.

    Returns:
        The number of stored transitions; -1 where all have priority 0.
    """
    _, episodes, tree = store
    stored = 0
    for lane in range(episodes.sampleable.size):
        stored += episodes.sampleable[lane]
    if stored == 0:
        return 0
    before = np.empty(episodes.newest.size + 1, np.int64)
    count_rows(episodes, before)
    if tree.nodes.size == 0:
        pick_uniform(episodes, before, stream, windows)
    elif not pick_prioritised(episodes, tree, stream, windows, chance):
        return -1
    measure(episodes, stream, windows, low, high)
    if cumulative.size:
        draw_goals(episodes, before, stream, windows, cumulative, log_discount)
    return stored
