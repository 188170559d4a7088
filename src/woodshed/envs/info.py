"""What is read from an environment's `info`: the asked keys, and whether the step succeeded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.envs.make import EnvironmentFactory, make_environment
from woodshed.errors import WoodshedError

SUCCESS_KEYS = ("is_success", "success")
"""Where environments say that the goal is reached, the first that is there counts."""


def success_of(info: Mapping[str, Any]) -> float:
    """1.0 or 0.0 from `is_success`, else from `success`; nan where the environment says neither."""
    for key in SUCCESS_KEYS:
        if key in info:
            return scalar(info[key])
    return np.nan


def scalar(value: Any) -> float:
    """The value as a float; nan where it is not one number, since success is only reported."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def stack_info(
    infos: Sequence[Mapping[str, Any]], keys: Iterable[str], first_lane: int = 0
) -> dict[str, NDArray[Any]]:
    """The asked keys of every lane's info as arrays [L, ...]; lanes count from `first_lane`.

    Raises:
        WoodshedError: a lane lacks a key, or its value is not numbers of one shape over the lanes.
    """
    stacked = {}
    for key in keys:
        for lane, info in enumerate(infos, first_lane):
            if key not in info:
                raise missing_key(key, lane, info)
        stacked[key] = numbers(key, [info[key] for info in infos])
    return stacked


def numbers(key: str, values: Any) -> NDArray[Any]:
    """The values of an info key as an array of numbers.

    Raises:
        WoodshedError: they are not numbers, or not of one shape.
    """
    try:
        array = np.array(values)
    except ValueError:  # numpy's word for lists of unequal lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise WoodshedError(
            f"info key {key!r} must hold numbers of one shape, got {values!r:.80}; ask for another "
            "key"
        )
    return array


def missing_key(key: str, lane: int, there: Iterable[str]) -> WoodshedError:
    """The error for an asked info key that a step did not give."""
    names = ", ".join(sorted(map(repr, there))) or "none"
    return WoodshedError(
        f"environment {lane} gave no info key {key!r} with its step; the keys it gave: {names}"
    )


def probe_info_space(
    env: str | EnvironmentFactory, info_keys: Sequence[str]
) -> dict[str, gymnasium.Space[Any]]:
    """Make an environment, take one step in it, and describe each asked info value.

    Args:
        env: Gymnasium id or function that makes the environment
        info_keys: the keys asked for; with none, no environment is made

    Returns:
        For each key a Box of the value's shape and dtype, as wide as the dtype.

    Raises:
        WoodshedError: the step gave no such key, or its value is not numbers.
    """
    if not info_keys:
        return {}
    environment = make_environment(env)
    try:
        environment.reset(seed=0)
        environment.action_space.seed(0)
        info = environment.step(environment.action_space.sample())[4]
    finally:
        environment.close()
    described: dict[str, gymnasium.Space[Any]] = {}
    for key, value in stack_info([info], info_keys).items():
        low, high = _limits(value.dtype)
        described[key] = spaces.Box(low, high, value.shape[1:], value.dtype.type)
    return described


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind == "b":
        return 0, 1
    return np.iinfo(dtype).min, np.iinfo(dtype).max
