"""What a sampled window must be, step by step from the definitions."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from tests.reference.replay import Array, Place, ReferenceReplay, Tree

GoalFunction = Callable[[Array, Array, Mapping[str, Array]], Any]


class Window(NamedTuple):
    """One row of a batch, and one definition of it."""

    observation: Tree
    action: Array
    reward: float
    discount: float
    steps: int
    next_observation: Tree


class Goal(NamedTuple):
    """A goal that hindsight may draw, and how likely it is."""

    lane: int
    number: int
    """The row whose achieved goal it is."""
    value: Array
    probability: Fraction


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
        row = place.row(place.number + steps)
        achieved = achieved_goal(place.row(place.number + steps + 1).observation)
        reward += gamma**steps * float(_one(compute_reward, achieved, goal, row.info))
        if compute_terminated is None:
            terminated = row.terminated
        else:
            terminated = bool(_one(compute_terminated, achieved, goal, row.info))
        steps += 1
    window = _window(place, steps, gamma, reward, terminated)
    return window._replace(
        observation=with_goal(window.observation, goal),
        next_observation=with_goal(window.next_observation, goal),
    )


def goals(replay: ReferenceReplay, place: Place, strategy: str) -> list[Goal]:
    """Every goal that a window from this row may get, with its exact probability."""
    match strategy:
        case "future":
            return _uniform(_later(place, place.number))
        case "final":
            return _uniform([(place, place.episode.last)])
        case "episode":
            return _uniform(_later(place, place.oldest))
        case "random":
            return _uniform((other, other.number + 1) for other in replay.places())
    raise AssertionError(strategy)


def achieved_goal(observation: Tree) -> Array:
    assert isinstance(observation, dict)
    value = observation["achieved_goal"]
    assert not isinstance(value, dict)
    return value


def with_goal(observation: Tree, goal: Array) -> Tree:
    """The observation with another desired goal."""
    assert isinstance(observation, dict)
    return {**observation, "desired_goal": goal}


def _later(place: Place, number: int) -> list[tuple[Place, int]]:
    return [(place, j) for j in range(number + 1, place.episode.last + 1)]


def _uniform(rows: Iterable[tuple[Place, int]]) -> list[Goal]:
    listed = list(rows)
    share = Fraction(1, len(listed))
    return [
        Goal(place.lane, j, achieved_goal(place.row(j).observation), share) for place, j in listed
    ]


def _window(place: Place, steps: int, gamma: float, reward: float, terminated: bool) -> Window:
    start = place.row(place.number)
    assert start.action is not None
    return Window(
        observation=start.observation,
        action=start.action,
        reward=reward,
        discount=0.0 if terminated else gamma**steps,
        steps=steps,
        next_observation=place.row(place.number + steps).observation,
    )


def _one(function: GoalFunction, achieved: Array, goal: Array, info: Mapping[str, Array]) -> Any:
    """The function's answer for one row, asked as a batch of one."""
    column = {key: value[None] for key, value in info.items()}
    return np.asarray(function(achieved[None], goal[None], column)).reshape(-1)[0]
