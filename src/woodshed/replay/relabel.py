"""Relabel, second half: rewards and terminations of the windows that have a new goal."""

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.collect import copy_words
from woodshed.replay.kernel import kernel
from woodshed.replay.recipe import Recipe
from woodshed.replay.rewards import call
from woodshed.replay.store import wrap

Answers = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Reward and termination of each of M steps; no terminations where the stored ones stand."""

_STORED_STANDS = np.empty(0, np.bool_)
NO_ANSWERS: Answers = np.empty(0), _STORED_STANDS


def ask(recipe: Recipe, questions: NDArray[np.uint32]) -> Answers:
    """Ask the functions of hindsight for reward and termination of steps with new goals.

    Args:
        recipe: how batches are made.
        questions: `[M, question words]`.
    """
    goals = recipe.goals
    if goals is None or len(questions) == 0:
        return NO_ANSWERS
    achieved, desired, info = goals.read(questions)
    hindsight = goals.hindsight
    reward = call(hindsight.compute_reward, "compute_reward", achieved, desired, info)
    if hindsight.compute_terminated is None:
        return reward, _STORED_STANDS
    name = "compute_terminated"
    return reward, call(hindsight.compute_terminated, name, achieved, desired, info) != 0


@kernel
def gather_questions(words, windows, b, numbers, asked, m):  # type: ignore[no-untyped-def]
    """Gather what the functions of hindsight are asked about the steps of window b.

    Args:
        words: `[L, R, W]`, the records.
        windows: of the batch.
        b: a window that has a new goal.
        numbers: `Numbers`.
        asked: `[…, question words]`, filled: goal achieved after the step, new goal, info.
        m: where in it the window's first step goes.

    Returns:
        Where the next window's goes.
    """
    achieved, width = numbers.achieved, numbers.goal_words
    lane, place = windows.lane[b], windows.place[b]
    goal_lane, goal_place = windows.goal_lane[b], windows.goal_place[b]
    for _ in range(windows.steps[b]):
        if numbers.info_words:
            copy_words(words, lane, place, numbers.info, numbers.info_words, asked, m, 2 * width)
        place = wrap(place + 1, words.shape[1])
        copy_words(words, lane, place, achieved, width, asked, m, 0)
        copy_words(words, goal_lane, goal_place, achieved, width, asked, m, width)
        m += 1
    return m
