"""Sampling: pick, window, relabel, reduce, collect; in this order, and nothing else."""

import numpy as np
from numba import njit

from woodshed.errors import WoodshedError
from woodshed.replay.batch import Batch
from woodshed.replay.collect import collect
from woodshed.replay.goals import draw_goals
from woodshed.replay.pick import count_rows, pick_uniform
from woodshed.replay.recipe import Recipe
from woodshed.replay.reduce import reduce_windows
from woodshed.replay.relabel import nothing_relabelled, relabel
from woodshed.replay.store import Store
from woodshed.replay.stream import open_stream
from woodshed.replay.windows import empty_windows, measure

_NO_STRATEGY = np.empty(0, np.float64)


def sample(store: Store, recipe: Recipe, generator: np.random.Generator, batch: int) -> Batch:
    """Draw a batch of windows. Changes nothing but the generator.

    Raises:
        WoodshedError: when nothing can be sampled yet.
    """
    goals = recipe.goals
    cumulative = _NO_STRATEGY if goals is None else goals.cumulative
    windows = empty_windows(batch)
    if not _draw(store.episodes, open_stream(generator), windows, *recipe.n_step, cumulative):
        raise WoodshedError("the replay is empty: add a step before sampling")
    if goals is None:
        relabelled = nothing_relabelled(batch)
    else:
        relabelled = relabel(store, windows, goals.hindsight, recipe.goal_blocks(batch))
    reward, discount = reduce_windows(
        store.words.view(np.float32),
        store.episodes,
        windows,
        relabelled,
        recipe.layout.reward.offset,
        recipe.gamma,
    )
    return collect(store, recipe, windows, reward, discount)


@njit(nogil=True, cache=True)
def _draw(episodes, stream, windows, low, high, cumulative):  # type: ignore[no-untyped-def]
    """All that is drawn at random: start rows, lengths, goals. False where nothing is stored."""
    stored = 0
    for lane in range(episodes.sampleable.size):
        stored += episodes.sampleable[lane]
    if stored == 0:
        return False
    before = np.empty(episodes.newest.size + 1, np.int64)
    count_rows(episodes, before)
    pick_uniform(episodes, before, stream, windows)
    measure(episodes, stream, windows, low, high)
    if cumulative.size:
        draw_goals(episodes, before, stream, windows, cumulative)
    return True
