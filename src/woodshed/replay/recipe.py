"""The recipe: all that decides how stored rows become batches, checked once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.goals import cumulative_probabilities
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.priorities import Priorities
from woodshed.replay.records import Field, RecordLayout, as_records, records_dtype
from woodshed.replay.rewards import probe


class GoalPlaces(NamedTuple):
    """Words of a record."""

    achieved: int
    """First word of the achieved goal."""
    desired: int
    """First word of the desired goal."""
    width: int
    """Words of a goal."""


@dataclass(frozen=True, eq=False)
class Goals:
    """Where the goals lie, and how they are replaced."""

    places: GoalPlaces
    question: np.dtype[Any]
    """What hindsight's functions are asked about: achieved goal, new goal, info keys."""
    info: tuple[str, ...]
    """The info keys."""
    info_word: int
    """Where the info begins in a record, the rest of which it is."""
    hindsight: Hindsight
    cumulative: NDArray[np.float64]
    """`[strategies]`, see `cumulative_probabilities`."""
    log_discount: float
    """Logarithm of `geometric_discount`."""

    def read(
        self, questions: NDArray[np.uint32]
    ) -> tuple[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]]:
        """Questions `[M, words]` as the arguments of hindsight's functions."""
        asked = as_records(questions, self.question)
        return asked["achieved"], asked["desired"], {key: asked[key] for key in self.info}


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

    @property
    def goal_places(self) -> GoalPlaces:
        """Where the kernels find the goals; without hindsight they do not look."""
        return GoalPlaces(0, 0, 0) if self.goals is None else self.goals.places


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
        width, info_word = achieved.width, layout.reward.offset + layout.reward.width
        question = [
            Field(achieved.leaf._replace(path=("achieved",)), 0, width),
            Field(achieved.leaf._replace(path=("desired",)), width, width),
            *(
                Field(
                    f.leaf._replace(path=f.leaf.path[1:]), f.offset - info_word + 2 * width, f.width
                )
                for f in layout.info
            ),
        ]
        goals = Goals(
            places=GoalPlaces(achieved.offset, desired.offset, width),
            question=records_dtype(question, 2 * width + layout.words - info_word),
            info=tuple(field.leaf.path[-1] for field in layout.info),
            info_word=info_word,
            hindsight=probe(hindsight, goal_space, info_space, float_dtype),
            cumulative=cumulative_probabilities(hindsight),
            log_discount=math.log(hindsight.geometric_discount),
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
