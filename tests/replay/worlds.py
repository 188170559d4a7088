"""Made-up environments whose every number says where it was made.

An observation, an action, a reward and an info value are functions of (lane, episode, step), and
differ wherever that differs, so that any mix-up of rows is seen. All numbers are whole numbers or
quarters that float32 holds exactly.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["flat", "discrete", "goal", "nested", "integer goals"]
GOAL_KINDS: tuple[Kind, ...] = ("goal", "nested", "integer goals")


def _box(*shape: int, dtype: Any = np.float32) -> spaces.Box:
    if np.issubdtype(dtype, np.integer):
        return spaces.Box(-1000, 1000, shape, dtype)
    return spaces.Box(-np.inf, np.inf, shape, dtype)


def observation_space(kind: Kind) -> spaces.Space[Any]:
    match kind:
        case "flat":
            return _box(3)
        case "discrete":
            return spaces.Discrete(8 * 256 * 256)
        case "goal":
            return spaces.Dict(
                {"observation": _box(3), "achieved_goal": _box(3), "desired_goal": _box(3)}
            )
        case "integer goals":
            return spaces.Dict(
                {
                    "observation": _box(3),
                    "achieved_goal": _box(3, dtype=np.int32),
                    "desired_goal": _box(3, dtype=np.int32),
                }
            )
        case "nested":
            inner = {
                "position": _box(3, dtype=np.float64),
                "image": spaces.Box(0, 255, (2, 2), np.uint8),
                "mode": spaces.Discrete(256),
                "switches": spaces.Dict(
                    {"buttons": spaces.MultiBinary(3), "choice": spaces.MultiDiscrete([8, 256])}
                ),
            }
            return spaces.Dict(
                {
                    "observation": spaces.Dict(inner),
                    "achieved_goal": _box(3, dtype=np.float64),
                    "desired_goal": _box(3, dtype=np.float64),
                }
            )


def observation(kind: Kind, lane: int, episode: int, step: int, goal_moves: bool) -> Any:
    """The observation of one row; the desired goal changes within an episode if `goal_moves`."""
    place = np.array([lane, episode, step], np.float32)
    if kind == "flat":
        return place
    if kind == "discrete":
        return np.int64((lane * 256 + episode) * 256 + step)
    goal_type = {"goal": np.float32, "nested": np.float64, "integer goals": np.int32}[kind]
    achieved = np.array([10 * lane + 1, episode, step]).astype(goal_type)
    desired = np.array([-lane - 1, -episode - 1, step if goal_moves else 0]).astype(goal_type)
    inner: Any = place
    if kind == "nested":
        inner = {
            "position": place.astype(np.float64),
            "image": np.array([[lane, episode], [step, 255 - step]], np.uint8),
            "mode": np.int64(255 - step),
            "switches": {
                "buttons": np.array([lane & 1, (lane >> 1) & 1, (lane >> 2) & 1], np.int8),
                "choice": np.array([lane, episode], np.int64),
            },
        }
    return {"observation": inner, "achieved_goal": achieved, "desired_goal": desired}


def action_space(kind: Kind) -> spaces.Space[Any]:
    match kind:
        case "discrete":
            return spaces.Discrete(8 * 256 * 256)
        case "nested":
            return spaces.MultiDiscrete([8, 256, 256])
        case _:
            return spaces.Box(-1000, 1000, (3,), np.float32)


def action(kind: Kind, lane: int, episode: int, step: int) -> Any:
    match kind:
        case "discrete":
            return np.int64((lane * 256 + episode) * 256 + step)
        case "nested":
            return np.array([lane, episode, step], np.int64)
        case _:
            return np.array([lane, episode, -step], np.float32)


def reward(lane: int, episode: int, step: int) -> float:
    return ((31 * lane + 17 * episode + 7 * step) % 97) / 4 - 10.0


def info_space() -> dict[str, spaces.Space[Any]]:
    return {"shift": _box(), "push": _box(2)}


def info(lane: int, episode: int, step: int) -> dict[str, Array]:
    return {
        "shift": np.array((5 * lane + 3 * episode + 2 * step) % 13, np.float32),
        "push": np.array([(lane + step) % 7, -1 - episode], np.float32),
    }


def recurrent_state_space() -> spaces.Space[Any]:
    return spaces.Dict({"h": _box(2), "cell": spaces.Dict({"c": _box(3, dtype=np.float64)})})


def recurrent_state(lane: int, episode: int, step: int) -> Any:
    cell = {"c": np.array([step, lane, -episode], np.float64)}
    return {"h": np.array([episode + 0.5, -step], np.float32), "cell": cell}


def compute_reward(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """0, -1, ... -6 by the distance, moved by what the info says."""
    result: Array = -(_distance(achieved, desired) % 7) + _moved(info)
    return result


def compute_terminated(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """One case in five, by distance and info, so that windows end early often but not always."""
    result: Array = (_distance(achieved, desired) + _moved(info)) % 5 == 0
    return result


def _distance(achieved: Array, desired: Array) -> Array:
    difference = np.asarray(achieved, np.float64) - np.asarray(desired, np.float64)
    result: Array = np.abs(np.rint(difference)).sum(axis=-1)
    return result


def _moved(info: Mapping[str, Array]) -> Any:
    if not info:
        return 0.0
    return np.rint(info["shift"]) + np.rint(info["push"][..., 0])


def stack(entries: list[Any]) -> Any:
    """One tree per lane to a tree with a leading lane axis."""
    if isinstance(entries[0], Mapping):
        return {key: stack([entry[key] for entry in entries]) for key in entries[0]}
    return np.stack([np.asarray(entry) for entry in entries])
