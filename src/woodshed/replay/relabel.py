"""Relabel, second half: rewards and terminations of the windows that have a new goal."""

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.questions import Asked
from woodshed.replay.recipe import Recipe
from woodshed.replay.rewards import call

Answers = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Reward and termination of each of M steps; no terminations where the stored ones stand."""

_STORED_STANDS = np.empty(0, np.bool_)
NO_ANSWERS: Answers = np.empty(0), _STORED_STANDS


def ask(recipe: Recipe, asked: Asked | None, count: int) -> Answers:
    """Ask the functions of hindsight for reward and termination of steps with new goals.

    Args:
        recipe: how batches are made.
        asked: the questions; None without hindsight.
        count: M, how many of them there are.
    """
    hindsight = recipe.hindsight
    if hindsight is None or asked is None or count == 0:
        return NO_ANSWERS
    question = asked.first(count)
    reward = call(hindsight.compute_reward, "compute_reward", *question)
    if hindsight.compute_terminated is None:
        return reward, _STORED_STANDS
    return reward, call(hindsight.compute_terminated, "compute_terminated", *question) != 0
