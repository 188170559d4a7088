"""Sampling: pick, window, relabel, reduce, collect; in this order, and nothing else."""

import numpy as np

from woodshed.replay.batch import Batch
from woodshed.replay.collect import collect
from woodshed.replay.draw import Drawn
from woodshed.replay.recipe import Recipe
from woodshed.replay.reduce import reduce_windows
from woodshed.replay.relabel import nothing_relabelled, relabel
from woodshed.replay.store import Store


def collect_windows(store: Store, recipe: Recipe, drawn: Drawn) -> Batch:
    """Make a batch of windows that were drawn: relabel, reduce, collect.

    Args:
        store: only read.
        recipe: how the batch is made.
        drawn: picked rows, lengths and goals.
    """
    windows, goals = drawn.windows, recipe.goals
    if goals is None:
        relabelled = nothing_relabelled(windows.row.size)
    else:
        blocks = recipe.goal_blocks(windows.row.size * recipe.n_step[1])
        relabelled = relabel(store, windows, goals.hindsight, blocks)
    reward, discount = reduce_windows(
        store.words.view(np.float32),
        store.episodes,
        windows,
        relabelled,
        recipe.layout.reward.offset,
        recipe.gamma,
    )
    return collect(store, recipe, windows, reward, discount, drawn.weight)
