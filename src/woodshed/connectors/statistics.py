"""Running mean and variance of observations, to normalise them by. All functions are pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.connectors.leaves import leaf_arrays, leaf_spaces
from woodshed.errors import WoodshedError

STD_FLOOR = 1e-2
"""No feature is divided by less: one that hardly moves, or not yet, would else become noise of
size one. The floor of the normaliser in the HER experiments (Andrychowicz et al. 2017,
as in OpenAI Baselines)."""


class Statistics(NamedTuple):
    """Moments of the observations seen so far, float64, under the names of the normalised leaves.

    `achieved_goal` and `desired_goal` share theirs where they have one shape: hindsight makes
    desired goals of achieved ones, and the policy must see both in one measure.
    """

    count: NDArray[np.float64]  # type: ignore[assignment]  # hides tuple.count, not missed here
    """[] observations seen (each holds two of the shared goals)"""
    mean: dict[str, NDArray[np.float64]]
    """mean of each feature"""
    square: dict[str, NDArray[np.float64]]
    """mean squared distance from that mean: the variance with divisor n"""


class Scale(NamedTuple):
    """What normalises: (x - mean) * inverse_std, float32, under the names of the statistics."""

    mean: dict[str, NDArray[np.float32]]
    inverse_std: dict[str, NDArray[np.float32]]


def is_normalised(leaf: gymnasium.Space[Any]) -> bool:
    """Whether a leaf is normalised: a Box of numbers other than uint8, which images are."""
    return (
        isinstance(leaf, spaces.Box)
        and leaf.dtype.kind in "iuf"
        and leaf.dtype != np.dtype("uint8")
    )


def init_statistics(observation_space: gymnasium.Space[Any]) -> Statistics:
    """Statistics of no observation: count, means and variances are 0."""
    shapes = {
        name: leaf.shape or ()
        for name, leaf in leaf_spaces(observation_space).items()
        if is_normalised(leaf)
    }
    return Statistics(
        count=np.zeros(()),
        mean={name: np.zeros(shape) for name, shape in shapes.items()},
        square={name: np.zeros(shape) for name, shape in shapes.items()},
    )


def update_statistics(
    statistics: Statistics, observation: Any, mask: NDArray[np.bool_] | None = None
) -> Statistics:
    """Statistics that have seen these observations too.

    Args:
        statistics: those so far; they are not changed
        observation: tree of arrays [L, ...], finite where counted
        mask: [L] which lanes to count (default: all)

    Returns:
        New statistics. Up to rounding they do not depend on how the observations were split into
        batches (Chan, Golub and LeVeque 1979, the update that joins two samples).
    """
    leaves = leaf_arrays(observation)
    mean, square = dict(statistics.mean), dict(statistics.square)
    count = statistics.count
    for names in _sharing(statistics.mean):
        parts = [_rows(leaves[name], mask) for name in names]
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if len(rows) == 0:
            return statistics
        new = len(rows) // len(names)
        count = statistics.count + new
        # Shares of the joined sample: a seen before, b in these rows.
        a, b = statistics.count / count, new / count
        row_mean, row_square = _moments(rows)
        apart = row_mean - mean[names[0]]
        joined_mean = mean[names[0]] + b * apart
        joined_square = a * square[names[0]] + b * row_square + a * b * apart**2
        for name in names:
            mean[name], square[name] = np.asarray(joined_mean), np.asarray(joined_square)
    return Statistics(np.asarray(count), mean, square)


def to_scale(statistics: Statistics) -> Scale:
    """The scale to normalise by; before two observations nothing is divided."""
    ones = bool(statistics.count < 2)
    return Scale(
        {name: mean.astype(np.float32) for name, mean in statistics.mean.items()},
        {
            name: np.ones(square.shape, np.float32)
            if ones
            else (1.0 / np.maximum(np.sqrt(square), STD_FLOOR)).astype(np.float32)
            for name, square in statistics.square.items()
        },
    )


def statistics_to_arrays(statistics: Statistics) -> dict[str, NDArray[np.float64]]:
    """The statistics as named arrays, to be saved: `count`, `mean/<leaf>`, `square/<leaf>`."""
    return {
        "count": statistics.count,
        **{f"mean/{name}": mean for name, mean in statistics.mean.items()},
        **{f"square/{name}": square for name, square in statistics.square.items()},
    }


def statistics_from_arrays(
    arrays: Mapping[str, NDArray[Any]], observation_space: gymnasium.Space[Any]
) -> Statistics:
    """The inverse of `statistics_to_arrays`.

    Raises:
        WoodshedError: the arrays do not belong to this observation space.
    """
    empty = init_statistics(observation_space)
    expected = {name: array.shape for name, array in statistics_to_arrays(empty).items()}
    given = {name: array.shape for name, array in arrays.items()}
    if given != expected:
        raise WoodshedError(
            "the saved observation statistics belong to another observation space: expected "
            f"{expected}, found {given}"
        )
    return Statistics(
        np.array(arrays["count"], np.float64),
        {name: np.array(arrays[f"mean/{name}"], np.float64) for name in empty.mean},
        {name: np.array(arrays[f"square/{name}"], np.float64) for name in empty.square},
    )


def _sharing(mean: Mapping[str, NDArray[Any]]) -> list[list[str]]:
    """The names in groups that share one statistic."""
    groups: dict[str, list[str]] = {}
    for name, array in mean.items():
        key, slash, rest = name.partition("/")
        achieved = f"achieved_goal{slash}{rest}"
        shares = key == "desired_goal" and achieved in mean and mean[achieved].shape == array.shape
        groups.setdefault(achieved if shares else name, []).append(name)
    return list(groups.values())


def _moments(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and mean squared distance from it; of few rows quicker than numpy's mean and var."""
    mean = np.add.reduce(rows) / len(rows)
    return mean, np.add.reduce((rows - mean) ** 2) / len(rows)


def _rows(leaf: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    rows = np.asarray(leaf, np.float64)
    return rows if mask is None else rows[mask]
