"""Episodes on a line, written out by hand: for tests with literal numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.replay import ReplayBuffer

Array = NDArray[Any]
Ending = Literal["terminated", "truncated", "cut", "open"]

POSITION = spaces.Box(-1000, 1000, (1,), np.float32)
GOAL_POSITION = spaces.Dict(
    {"observation": POSITION, "achieved_goal": POSITION, "desired_goal": POSITION}
)


def look(position: float, goal: float | None = None) -> Any:
    """The observation of one lane there, `[1, 1]`; a dict where there is a goal."""
    here = np.array([[position]], np.float32)
    if goal is None:
        return here
    there = np.array([[goal]], np.float32)
    return {"observation": here, "achieved_goal": here, "desired_goal": there}


def step(
    position: float,
    next_position: float,
    *,
    goal: float | None = None,
    reward: float = 0.0,
    terminated: bool = False,
    truncated: bool = False,
) -> dict[str, Any]:
    """The arguments of `add` for one step of one lane; the action is the way that was gone."""
    return {
        "observation": look(position, goal),
        "action": np.array([[next_position - position]], np.float32),
        "reward": np.array([reward]),
        "terminated": np.array([terminated]),
        "truncated": np.array([truncated]),
        "next_observation": look(next_position, goal),
    }


def write_episode(
    buffer: ReplayBuffer,
    positions: Sequence[float],
    rewards: Sequence[float],
    ending: Ending,
    *,
    goal: float | None = None,
) -> None:
    """One episode through T+1 positions with T rewards."""
    assert len(positions) == len(rewards) + 1
    for i, reward in enumerate(rewards):
        end = ending if i + 1 == len(rewards) else "open"
        flags = {"terminated": end == "terminated", "truncated": end == "truncated"}
        buffer.add(**step(positions[i], positions[i + 1], goal=goal, reward=reward, **flags))
    if ending == "cut":
        buffer.cut()


def minus_one_away(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """-1 away from the goal and 0 at it."""
    return np.where(at_goal(achieved, desired, info), 0.0, -1.0)


def one_at_goal(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """1 at the goal and 0 away from it."""
    return np.where(at_goal(achieved, desired, info), 1.0, 0.0)


def at_goal(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """Whether the goal is reached."""
    result: Array = np.abs(achieved - desired)[..., 0] < 0.5
    return result


def rows(buffer: ReplayBuffer, draws: int = 400) -> dict[tuple[float, ...], Any]:
    """The windows that come up, by (position, steps) or, with goals, (position, goal, steps).

    Each is (reward, discount, next position), rounded to six places.
    """
    batch = buffer.sample(draws)
    here, there = batch.observation, batch.next_observation
    columns = [batch.steps]
    if isinstance(here, dict) and isinstance(there, dict):
        np.testing.assert_array_equal(here["desired_goal"], there["desired_goal"])
        columns = [_column(here["desired_goal"]), *columns]
        here, there = here["achieved_goal"], there["achieved_goal"]
    columns = [_column(here), *columns]
    values = [batch.reward, batch.discount, _column(there)]
    seen: dict[tuple[float, ...], Any] = {}
    for i in range(draws):
        value = tuple(round(float(column[i]), 6) for column in values)
        assert seen.setdefault(tuple(float(column[i]) for column in columns), value) == value
    return seen


def _column(leaf: Any) -> Array:
    result: Array = leaf[:, 0]
    return result
