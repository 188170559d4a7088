"""The recipe: all that decides how stored rows become batches, checked once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.gather import Blocks, plan_blocks
from woodshed.replay.goals import cumulative_probabilities
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.priorities import Priorities
from woodshed.replay.records import Field, RecordLayout
from woodshed.replay.rewards import probe


@dataclass(frozen=True)
class Goals:
    """Where the goals lie in a record, and how they are replaced."""

    achieved: Field
    desired: Field
    hindsight: Hindsight
    cumulative: NDArray[np.float64]
    """`[strategies]`, see `cumulative_probabilities`."""
    log_discount: float
    """Logarithm of `geometric_discount`."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How batches are made.

    Attributes:
        layout: of the store's records.
        gamma: discount factor of one step.
        n_step: the closed range of a window's length.
        goals: None without hindsight.
        priorities: None to pick uniformly.
    """

    layout: RecordLayout
    gamma: float
    n_step: tuple[int, int]
    goals: Goals | None
    priorities: Priorities | None

    @lru_cache(maxsize=8)  # noqa: B019 - a recipe lives as long as its buffer
    def batch_blocks(self, batch: int) -> Blocks:
        """The blocks of a batch: observation, action, next observation."""
        observation = self.layout.observation
        return plan_blocks((*observation, self.layout.action, *observation), batch)

    @lru_cache(maxsize=8)  # noqa: B019
    def goal_blocks(self, steps: int) -> Blocks:
        """The blocks of that many steps: achieved goal, new goal, info."""
        if self.goals is None:
            raise ValueError("no hindsight, no goals")
        achieved = self.goals.achieved
        return plan_blocks((achieved, achieved, *self.layout.info), steps)


def write_recipe(
    layout: RecordLayout,
    *,
    gamma: float,
    n_step: int | tuple[int, int],
    hindsight: Hindsight | None,
    priorities: Priorities | None,
    observation_space: gymnasium.Space[Any],
    info_space: Mapping[str, gymnasium.Space[Any]],
    float_dtype: DTypeLike,
) -> Recipe:
    """Check the settings and bring them together; see `ReplayBuffer`.

    Raises:
        WoodshedError: for a number out of range, missing goals, a function that does not work.
    """
    if not 0 <= gamma <= 1:
        raise WoodshedError(f"gamma is {gamma}, expected a number from 0 to 1")
    goals = None
    if hindsight is not None:
        achieved, desired = _goal_fields(layout)
        goal_space = observation_space["achieved_goal"]  # type: ignore[index]
        goals = Goals(
            achieved,
            desired,
            probe(hindsight, goal_space, info_space, float_dtype),
            cumulative_probabilities(hindsight),
            math.log(hindsight.geometric_discount),
        )
    return Recipe(layout, float(gamma), _closed_range(n_step), goals, priorities)


def whole_number(value: int, name: str, least: int = 1) -> int:
    """A whole number of at least `least`.

    Raises:
        WoodshedError: for anything else.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise WoodshedError(f"{name} is {value!r}, expected a whole number of at least {least}")
    return int(value)


def _closed_range(n_step: int | tuple[int, int]) -> tuple[int, int]:
    pair = n_step if isinstance(n_step, (tuple, list)) else (n_step, n_step)
    if len(pair) != 2:
        raise WoodshedError(f"n_step is {n_step}, expected a number or a pair (low, high)")
    low, high = (whole_number(n, "n_step") for n in pair)
    if low > high:
        raise WoodshedError(f"n_step is ({low}, {high}), expected the smaller number first")
    return low, high


def _goal_fields(layout: RecordLayout) -> tuple[Field, Field]:
    found = {field.leaf.path[1:]: field for field in layout.observation}
    achieved, desired = found.get(("achieved_goal",)), found.get(("desired_goal",))
    if achieved is None or desired is None:
        raise WoodshedError(
            "hindsight needs goals: a Dict observation space with the arrays achieved_goal and "
            f"desired_goal; this one has {[field.leaf.name for field in layout.observation]}"
        )
    if achieved.leaf[1:] != desired.leaf[1:]:
        raise WoodshedError(
            "hindsight needs an achieved_goal and a desired_goal of the same shape and dtype; they "
            f"are {achieved.leaf.shape} {achieved.leaf.dtype} and {desired.leaf.shape} "
            f"{desired.leaf.dtype}"
        )
    return achieved, desired
