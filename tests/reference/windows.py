"""What a sampled window must be, step by step from the definitions."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from tests.reference.replay import Array, Place, Tree

GoalFunction = Callable[[Array, Array, Mapping[str, Array]], Any]


class Window(NamedTuple):
    """One row of a batch, and one definition of it."""

    observation: Tree
    action: Array
    reward: float
    discount: float
    steps: int
    next_observation: Tree


def original_window(place: Place, n: int, gamma: float) -> Window:
    """The n-step window from a row with the rewards and terminations that were written."""
    reward, steps, terminated = 0.0, 0, False
    while steps < n and place.number + steps < place.episode.last:
        row = place.row(place.number + steps)
        reward += gamma**steps * row.reward
        steps += 1
        terminated = row.terminated
    return _window(place, steps, gamma, reward, terminated)


def relabelled_window(
    place: Place,
    n: int,
    gamma: float,
    goal: Array,
    compute_reward: GoalFunction,
    compute_terminated: GoalFunction | None = None,
) -> Window:
    """The window as if `goal` had been the desired one; stops at the first termination."""
    reward, steps, terminated = 0.0, 0, False
    while steps < n and place.number + steps < place.episode.last and not terminated:
        number = place.number + steps
        achieved, info = achieved_after(place, number), place.row(number).info
        reward += gamma**steps * float(_one(compute_reward, achieved, goal, info))
        terminated = relabelled_termination(place, number, goal, compute_terminated)
        steps += 1
    window = _window(place, steps, gamma, reward, terminated)
    return window._replace(
        observation=with_goal(window.observation, goal),
        next_observation=with_goal(window.next_observation, goal),
    )


def relabelled_termination(
    place: Place, number: int, goal: Array, compute_terminated: GoalFunction | None
) -> bool:
    """Whether the transition at row `number` of this episode terminates under a goal."""
    row = place.row(number)
    if compute_terminated is None:
        return row.terminated
    return bool(_one(compute_terminated, achieved_after(place, number), goal, row.info))


def achieved_after(place: Place, number: int) -> Array:
    """The goal achieved by the transition at row `number` of this episode."""
    return achieved_goal(place.row(number + 1).observation)


def achieved_goal(observation: Tree) -> Array:
    assert isinstance(observation, dict)
    value = observation["achieved_goal"]
    assert not isinstance(value, dict)
    return value


def with_goal(observation: Tree, goal: Array) -> Tree:
    """The observation with another desired goal."""
    assert isinstance(observation, dict)
    return {**observation, "desired_goal": goal}


def _window(place: Place, steps: int, gamma: float, reward: float, terminated: bool) -> Window:
    start = place.row(place.number)
    assert start.action is not None
    return Window(
        observation=place.observation(place.number),
        action=start.action,
        reward=reward,
        discount=0.0 if terminated else gamma**steps,
        steps=steps,
        next_observation=place.observation(place.number + steps),
    )


def _one(function: GoalFunction, achieved: Array, goal: Array, info: Mapping[str, Array]) -> Any:
    """The function's answer for one row, asked as a batch of one."""
    column = {key: value[None] for key, value in info.items()}
    return np.asarray(function(achieved[None], goal[None], column)).reshape(-1)[0]
