"""Sampling: draw (pick, window, goals), relabel, reduce, collect; in this order, nothing else."""

import numpy as np

from woodshed.replay.batch import Batch
from woodshed.replay.collect import copy_windows, view_batch
from woodshed.replay.draw import Drawn
from woodshed.replay.kernel import kernel
from woodshed.replay.recipe import Recipe
from woodshed.replay.reduce import reduce_windows
from woodshed.replay.relabel import relabel
from woodshed.replay.store import Store


def collect_windows(store: Store, recipe: Recipe, drawn: Drawn) -> Batch:
    """Make a batch of windows that were drawn: relabel, reduce, collect.

    Args:
        store: only read.
        recipe: how the batch is made.
        drawn: picked rows, lengths and goals.
    """
    layout, windows, batch = recipe.layout, drawn.windows, drawn.windows.row.size
    relabelled = relabel(store, recipe, windows, recipe.n_step[1])
    words = np.empty((batch, layout.words + layout.observation_words), np.uint32)
    reward, discount = np.empty(batch, np.float32), np.empty(batch, np.float32)
    handle, is_relabelled = np.empty(batch, np.int64), np.empty(batch, np.bool_)
    rewards = layout.reward.offset, recipe.gamma
    collected = layout.observation_words, recipe.goal_places
    filled = reward, discount, words, handle, is_relabelled
    _reduce_and_copy(store, windows, relabelled, rewards, collected, filled)
    return view_batch(
        recipe,
        words,
        reward=reward,
        discount=discount,
        weight=drawn.weight,
        handle=handle,
        steps=windows.steps,
        relabelled=is_relabelled,
    )


@kernel
def _reduce_and_copy(store, windows, relabelled, rewards, collected, filled):  # type: ignore[no-untyped-def]
    """Reduce, then copy: one kernel, since each call of one from Python costs microseconds."""
    words, episodes, _ = store
    reward_word, gamma = rewards
    observation_words, goals = collected
    reward, discount, out, handle, is_relabelled = filled
    reduce_windows(words, episodes, windows, relabelled, reward_word, gamma, reward, discount)
    copy_windows(words, windows, observation_words, goals, out, handle, is_relabelled)
