"""What is checked of the lanes that are to be stepped as one."""

from collections.abc import Sequence
from typing import Any

import gymnasium
from numpy.typing import NDArray

from woodshed.envs.make import EnvironmentFactory
from woodshed.envs.seeding import SeededEpisodes
from woodshed.envs.spaces import action_rows
from woodshed.errors import WoodshedError


def check_lanes(
    envs: Sequence[str | EnvironmentFactory], first_episodes: Sequence[int] | None
) -> list[int]:
    """Number of each lane's first episode.

    Raises:
        WoodshedError: no lane, or another number of first episodes than of lanes.
    """
    if isinstance(envs, str) or len(envs) == 0:
        raise WoodshedError(f"expected one id or function for each lane, got {envs!r}")
    firsts = [0] * len(envs) if first_episodes is None else list(first_episodes)
    if len(firsts) != len(envs):
        raise WoodshedError(f"{len(firsts)} first episodes were given for {len(envs)} lanes")
    return firsts


def check_remake(
    n: int,
    episodes: Sequence[int],
    actions: Sequence[NDArray[Any] | None],
    action_space: gymnasium.Space[Any],
) -> list[NDArray[Any] | None]:
    """Each lane's actions, as an own copy in the dtype of the action space.

    Raises:
        WoodshedError: another number of episodes or actions than n lanes, or actions that are not
            the space's.
    """
    if len(episodes) != n or len(actions) != n:
        raise WoodshedError(
            f"{len(episodes)} episodes and the actions of {len(actions)} were given for {n} lanes"
        )
    return [
        None if rows is None else action_rows(rows, len(rows), action_space) for rows in actions
    ]


def check_lane(lanes: Sequence[SeededEpisodes]) -> None:
    """Check the newest lane against those before it."""
    first, newest = lanes[0], lanes[-1]
    if any(newest.unwrapped is lane.unwrapped for lane in lanes[:-1]):
        raise WoodshedError(
            f"the function for lane {newest.lane} returned the same environment object as an "
            "earlier one; it must make a new environment at each call"
        )
    for what in ("observation_space", "action_space"):
        check_equal_space(
            what, first.lane, getattr(first, what), newest.lane, getattr(newest, what)
        )


def check_equal_space(what: str, lane: int, expected: Any, other: int, given: Any) -> None:
    """Raises WoodshedError where the `other` lane's space is not that of `lane`."""
    if given != expected:
        raise WoodshedError(
            f"all lanes need equal spaces: the {what} of lane {lane} is {expected}, that of lane "
            f"{other} is {given}"
        )
