"""All that a sample draws at random: start rows, lengths of windows, goals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.goals import draw_goals
from woodshed.replay.kernel import kernel
from woodshed.replay.pick import count_rows, pick_uniform
from woodshed.replay.prefetch import prefetch_words
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
    before = np.empty(store.episodes.newest.size + 1, np.int64)
    copied = recipe.layout.observation_words, recipe.goal_places
    stored = _draw(store, before, stream, windows, chance, recipe.n_step, shares, copied)
    if stored == 0:
        raise WoodshedError("the replay is empty: add a step before sampling")
    if stored < 0:
        raise WoodshedError("every stored transition has priority 0: nothing can be picked")
    if recipe.priorities is None:
        return Drawn(windows, np.ones(batch, np.float32), stream)
    return Drawn(windows, importance_weights(chance, stored, beta), stream)


@kernel
def _draw(store, before, stream, windows, chance, n_step, shares, copied):  # type: ignore[no-untyped-def]
    """Draw in one kernel, since each call of one costs microseconds.

    Returns:
        The number of stored transitions; -1 where all have priority 0.
    """
    words, episodes, tree = store
    low, high = n_step
    cumulative, log_discount = shares
    observation_words, goals = copied
    stored = 0
    for lane in range(episodes.sampleable.size):
        stored += episodes.sampleable[lane]
    if stored == 0:
        return 0
    count_rows(episodes, before)
    if tree.nodes.size == 0:
        pick_uniform(episodes, before, stream, windows)
    elif not pick_prioritised(episodes, tree, stream, windows, chance):
        return -1
    measure(episodes, stream, windows, low, high)
    draw_goals(episodes, before, stream, windows, cumulative, log_discount)
    for b in range(windows.row.size):
        lane, row = windows.lane[b], windows.row[b]
        prefetch_words(words, lane, row, 0, words.shape[2])
        prefetch_words(words, lane, row + windows.steps[b], 0, observation_words)
        if windows.goal_row[b] >= 0:
            goal_lane, goal_row = windows.goal_lane[b], windows.goal_row[b]
            prefetch_words(words, goal_lane, goal_row, goals.achieved, goals.width)
    return stored
