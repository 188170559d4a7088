"""Trying out the functions that recompute rewards and terminations, before anything relies on them.

See the section "Reward functions for hindsight" of docs/design.md.
"""

import copy
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.hindsight import GoalFunction, Hindsight

PROBE = 6  # rows of the probe batch


def probe(
    hindsight: Hindsight,
    goal_space: gymnasium.Space[Any],
    info_space: Mapping[str, gymnasium.Space[Any]],
    float_dtype: DTypeLike,
) -> Hindsight:
    """The same hindsight with functions that were tried and work on batches; see `probed`."""
    spaces = (goal_space, info_space, float_dtype)
    terminated = hindsight.compute_terminated
    return replace(
        hindsight,
        compute_reward=probed(hindsight.compute_reward, "compute_reward", *spaces),
        compute_terminated=terminated and probed(terminated, "compute_terminated", *spaces),
    )


def probed(
    function: GoalFunction,
    name: str,
    goal_space: gymnasium.Space[Any],
    info_space: Mapping[str, gymnasium.Space[Any]],
    float_dtype: DTypeLike,
) -> GoalFunction:
    """Check a function on a small batch, and make it work on batches where it does not.

    Args:
        function: `f(achieved_goal, desired_goal, info)`.
        name: what to call it in messages.
        goal_space: the space of a goal.
        info_space: the spaces of the declared info keys.
        float_dtype: dtype of stored floats.

    Returns:
        The function itself where its result for a batch is what it gives row by row; else a
        function that calls it row by row, announced by one `UserWarning`.

    Raises:
        WoodshedError: when a single row does not give a single number.
    """
    achieved, desired, info = _probe_batch(goal_space, info_space, float_dtype)
    by_row, row_problem = _try(lambda: _row_by_row(function, achieved, desired, info))
    batch, batch_problem = _try(lambda: _call(function, achieved, desired, info))
    if by_row is None:
        singles, _ = _try(lambda: _batches_of_one(function, achieved, desired, info))
        if singles is not None and batch is not None and _same(batch, singles):
            return function
        raise WoodshedError(
            f"{name} does not work on single goals of shape {achieved.shape[1:]}: {row_problem}"
        )
    if by_row.shape != (PROBE,):
        raise WoodshedError(
            f"{name} has the wrong shape: for one goal of shape {achieved.shape[1:]} it returned "
            f"shape {by_row.shape[1:]}, expected a single number"
        )
    if batch is not None and _same(batch, by_row):
        return function
    if batch is None:
        found = batch_problem
    elif batch.shape != (PROBE,):
        found = f"for {PROBE} goals it returned shape {batch.shape}, expected ({PROBE},)"
    else:
        found = "its result for a batch differs from its results row by row"
    warnings.warn(
        f"{name} is not vectorised ({found}); it is called row by row, which is slow: "
        "let it work on arrays [batch, goal]",
        UserWarning,
        stacklevel=4,
    )
    return lambda a, d, i: _row_by_row(function, a, d, i)


def call(
    function: GoalFunction,
    name: str,
    achieved: NDArray[Any],
    desired: NDArray[Any],
    info: dict[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Call a probed function on a batch, and check what it gives.

    Returns:
        `[M]` float64.

    Raises:
        WoodshedError: for another shape, or a number that is not finite.
    """
    result = np.asarray(function(achieved, desired, info), np.float64, order="C")
    if result.shape != (len(achieved),):
        raise WoodshedError(
            f"{name} returned shape {result.shape} for {len(achieved)} goals, "
            f"expected ({len(achieved)},)"
        )
    # Where the sum of squares is finite all are, and it takes a third of the time.
    if not math.isfinite(result @ result) and not np.isfinite(result).all():
        raise WoodshedError(f"{name} returned {result[~np.isfinite(result)][0]}")
    return result


def _probe_batch(
    goal_space: gymnasium.Space[Any],
    info_space: Mapping[str, gymnasium.Space[Any]],
    float_dtype: DTypeLike,
) -> tuple[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]]:
    def draw(space: gymnasium.Space[Any]) -> NDArray[Any]:
        space = copy.deepcopy(space)  # a space carries its generator: the user's stays as it is
        space.seed(0)
        rows = np.stack([np.asarray(space.sample()) for _ in range(PROBE)])
        return rows.astype(float_dtype) if np.issubdtype(rows.dtype, np.floating) else rows

    achieved = draw(goal_space)
    desired = np.roll(achieved, 1, axis=0)
    desired[: PROBE // 2] = achieved[: PROBE // 2]  # a sparse reward must differ between rows
    return achieved, desired, {key: draw(space) for key, space in info_space.items()}


def _call(
    function: GoalFunction,
    achieved: NDArray[Any],
    desired: NDArray[Any],
    info: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    copies = {key: value.copy() for key, value in info.items()}
    return np.asarray(function(achieved.copy(), desired.copy(), copies), np.float64)


def _row_by_row(
    function: GoalFunction,
    achieved: NDArray[Any],
    desired: NDArray[Any],
    info: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    rows = [
        function(achieved[i], desired[i], {key: value[i] for key, value in info.items()})
        for i in range(len(achieved))
    ]
    return np.asarray(rows, np.float64)


def _batches_of_one(
    function: GoalFunction,
    achieved: NDArray[Any],
    desired: NDArray[Any],
    info: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    return np.concatenate(
        [
            _call(
                function,
                achieved[i : i + 1],
                desired[i : i + 1],
                {key: value[i : i + 1] for key, value in info.items()},
            )
            for i in range(len(achieved))
        ]
    )


def _try(
    attempt: Callable[[], NDArray[np.float64]],
) -> tuple[NDArray[np.float64] | None, str]:
    """The result, or None and what went wrong: a probe may fail in any way a user's code can."""
    try:
        with np.errstate(all="ignore"):
            return attempt(), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
