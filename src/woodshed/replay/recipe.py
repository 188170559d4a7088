"""The recipe: all that decides how stored rows become batches, checked once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.batch_layout import BatchLayout
from woodshed.replay.goals import cumulative_probabilities
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.kernel import kernel
from woodshed.replay.priorities import Priorities
from woodshed.replay.records import Field, RecordLayout, as_records, records_dtype
from woodshed.replay.rewards import probe


class Numbers(NamedTuple):
    """What the kernels need to know of a recipe; words are counted in a record."""

    low: int
    """The least steps of a window,"""
    high: int
    """and the most."""
    gamma: float
    """Discount factor of one step."""
    observation_words: int
    """Length of an observation."""
    reward: int
    """Word of the reward."""
    info: int
    """First word of the info; there are `info_words`."""
    info_words: int
    """Length of the info."""
    achieved: int
    """First word of the achieved goal."""
    desired: int
    """First word of the desired goal."""
    goal_words: int
    """Length of a goal; 0 without hindsight."""
    log_discount: float
    """Logarithm of `geometric_discount`."""
    action: int
    """Word of the action."""
    action_words: int
    """Length of the action."""
    row_action: int
    """Word of the action in a row of a batch,"""
    row_next: int
    """of the observation after the window there,"""
    row_goal: int
    """and of the desired goal, counted from its observation."""
    behind: int
    """Frames before an observation that are stacked with it."""
    zero_padding: bool
    """Whether zeros stand for frames before the first one."""
    state_words: int
    """Length of the recurrent state, with which a record ends."""


@kernel
def numbers_of(packed):  # type: ignore[no-untyped-def]
    """`Numbers` from `Recipe.packed`, inside of a kernel: to hand them over takes 2 µs more."""
    return Numbers(
        low=int(packed[0]),
        high=int(packed[1]),
        gamma=packed[2],
        observation_words=int(packed[3]),
        reward=int(packed[4]),
        info=int(packed[5]),
        info_words=int(packed[6]),
        achieved=int(packed[7]),
        desired=int(packed[8]),
        goal_words=int(packed[9]),
        log_discount=packed[10],
        action=int(packed[11]),
        action_words=int(packed[12]),
        row_action=int(packed[13]),
        row_next=int(packed[14]),
        row_goal=int(packed[15]),
        behind=int(packed[16]),
        zero_padding=packed[17] != 0,
        state_words=int(packed[18]),
    )


@dataclass(frozen=True, eq=False)
class Goals:
    """How goals are replaced."""

    question: np.dtype[Any]
    """What hindsight's functions are asked about: achieved goal, new goal, info keys."""
    info: tuple[str, ...]
    """The info keys."""
    hindsight: Hindsight

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
        layout: of a row of the batch; `layout.record` of the store's records.
        numbers: what the kernels need to know.
        cumulative: `[strategies]`, see `cumulative_probabilities`; empty without hindsight.
        goals: None without hindsight.
        priorities: None to pick uniformly.
    """

    layout: BatchLayout
    numbers: Numbers
    cumulative: NDArray[np.float64]
    goals: Goals | None
    priorities: Priorities | None

    @cached_property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """What a kernel is handed: for `numbers_of`, `cumulative`, `BatchLayout.runs`."""
        return np.array(self.numbers, np.float64), self.cumulative, self.layout.runs


def write_recipe(
    layout: BatchLayout,
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
    low, high = _closed_range(n_step)
    record = layout.record
    info_word = record.reward.offset + record.reward.width
    numbers = Numbers(
        low=low,
        high=high,
        gamma=float(gamma),
        observation_words=record.observation_words,
        reward=record.reward.offset,
        info=info_word,
        info_words=record.words - record.state_words - info_word,
        achieved=0,
        desired=0,
        goal_words=0,
        log_discount=0.0,
        action=record.action.offset,
        action_words=record.action.width,
        row_action=layout.action_offset,
        row_next=layout.next_offset,
        row_goal=0,
        behind=layout.stacking.k - 1,
        zero_padding=layout.stacking.zero,
        state_words=record.state_words,
    )
    if hindsight is None:
        return Recipe(layout, numbers, np.empty(0), None, priorities)
    achieved, desired = _goal_fields(record)
    goal_space = observation_space["achieved_goal"]  # type: ignore[index]
    width = achieved.width
    question = [
        Field(achieved.leaf._replace(path=("achieved",)), 0, width),
        Field(achieved.leaf._replace(path=("desired",)), width, width),
        *(
            Field(f.leaf._replace(path=f.leaf.path[1:]), f.offset - info_word + 2 * width, f.width)
            for f in record.info
        ),
    ]
    goals = Goals(
        question=records_dtype(question, 2 * width + numbers.info_words),
        info=tuple(field.leaf.path[-1] for field in record.info),
        hindsight=probe(hindsight, goal_space, info_space, float_dtype),
    )
    numbers = numbers._replace(
        achieved=achieved.offset,
        desired=desired.offset,
        goal_words=width,
        log_discount=math.log(hindsight.geometric_discount),
        row_goal=layout.offset_of(desired),
    )
    cumulative = cumulative_probabilities(hindsight)
    return Recipe(layout, numbers, cumulative, goals, priorities)


def whole_number(value: int, name: str, least: int = 1) -> int:
    """A whole number of at least `least`.

    Raises:
        WoodshedError: for anything else.
    """
    if type(value) is int and value >= least:
        return value
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
