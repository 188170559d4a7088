"""Relabel, second half: rewards and terminations of the windows that have a new goal."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.collect import copy_words
from woodshed.replay.kernel import kernel
from woodshed.replay.recipe import Recipe
from woodshed.replay.records import WORD_BYTES
from woodshed.replay.rewards import call
from woodshed.replay.store import TERMINATED, Store
from woodshed.replay.windows import Windows


class Relabelled(NamedTuple):
    """What hindsight says of the M steps of all relabelled windows, one window after the other.

    Attributes:
        first: `[B]` int64, the window's first step in the arrays below; -1 with its original goal.
        reward: `[at least M]` float64.
        terminated: `[at least M]` bool.
    """

    first: NDArray[np.int64]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]


def relabel(store: Store, recipe: Recipe, windows: Windows, most: int) -> Relabelled:
    """Recompute every step of the relabelled windows with the functions of hindsight.

    Args:
        store: only read.
        recipe: how batches are made; without goals no window is relabelled.
        windows: with the goals that were drawn for them.
        most: steps that a window can have.
    """
    batch, goals = windows.row.size, recipe.goals
    if goals is None:
        return Relabelled(np.full(batch, -1, np.int64), np.empty(0), np.empty(0, np.bool_))
    first = np.empty(batch, np.int64)
    terminated = np.empty(batch * most, np.bool_)
    asked = np.empty((batch * most, goals.question.itemsize // WORD_BYTES), np.uint32)
    count = gather_steps(
        store, windows, recipe.goal_places, goals.info_word, asked, first, terminated
    )
    achieved, desired, info = goals.read(asked[:count])
    hindsight = goals.hindsight
    reward = call(hindsight.compute_reward, "compute_reward", achieved, desired, info)
    if hindsight.compute_terminated is not None:
        name = "compute_terminated"
        terminated = call(hindsight.compute_terminated, name, achieved, desired, info) != 0
    return Relabelled(first, reward, terminated)


@kernel
def gather_steps(store, windows, goals, info_word, asked, first, terminated):  # type: ignore[no-untyped-def]
    """Gather what the functions of hindsight are asked about, for every step to be recomputed.

    Args:
        store: only read.
        windows: the batch's windows.
        goals: `GoalPlaces`.
        info_word: where the info begins in a record, the rest of which it is.
        asked: `[at least M, question words]`, filled: goal achieved after the step, new goal, info.
        first: `[B]`, filled as `Relabelled.first`.
        terminated: `[at least M]`, filled with the stored terminations.

    Returns:
        M, the number of steps.
    """
    words, episodes, _ = store
    achieved, _, width = goals
    info_words = words.shape[2] - info_word
    m = 0
    for b in range(windows.row.size):
        first[b] = -1
        if windows.goal_row[b] < 0:
            continue
        first[b] = m
        lane, goal_lane, goal_row = windows.lane[b], windows.goal_lane[b], windows.goal_row[b]
        for i in range(windows.steps[b]):
            row = windows.row[b] + i
            copy_words(words, lane, row + 1, achieved, width, asked, m, 0)
            copy_words(words, goal_lane, goal_row, achieved, width, asked, m, width)
            copy_words(words, lane, row, info_word, info_words, asked, m, 2 * width)
            terminated[m] = episodes.ending[lane, row % words.shape[1]] & TERMINATED != 0
            m += 1
    return m
