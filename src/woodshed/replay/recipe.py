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
from woodshed.replay.questions import Questions, layout_questions
from woodshed.replay.records import Field, RecordLayout
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
    """Length of an observation, after which the action begins."""
    reward: int
    """Word of the reward."""
    achieved: int
    """First word of the achieved goal."""
    goal_words: int
    """Length of a goal; 0 without hindsight."""
    log_discount: float
    """Logarithm of `geometric_discount`."""
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
    """`Numbers`, from one array of them, inside of a kernel: to hand them over takes 2 µs more."""
    return Numbers(
        low=int(packed[0]),
        high=int(packed[1]),
        gamma=packed[2],
        observation_words=int(packed[3]),
        reward=int(packed[4]),
        achieved=int(packed[5]),
        goal_words=int(packed[6]),
        log_discount=packed[7],
        action_words=int(packed[8]),
        row_action=int(packed[9]),
        row_next=int(packed[10]),
        row_goal=int(packed[11]),
        behind=int(packed[12]),
        zero_padding=packed[13] != 0,
        state_words=int(packed[14]),
    )


@dataclass(frozen=True, eq=False)
class Recipe:
    """How batches are made.

    Attributes:
        layout: of a row of the batch; `layout.record` of the store's records.
        numbers: what the kernels need to know.
        cumulative: `[strategies]`, see `cumulative_probabilities`; empty without hindsight.
        hindsight: with functions that were tried; None without.
        questions: what those are asked about; None without hindsight.
        priorities: None to pick uniformly.
    """

    layout: BatchLayout
    numbers: Numbers
    cumulative: NDArray[np.float64]
    hindsight: Hindsight | None
    questions: Questions | None
    priorities: Priorities | None

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What a kernel is handed: for `numbers_of`, `cumulative`, `BatchLayout.runs`, and
        `Questions.table`."""
        table = np.empty((0, 5), np.int64) if self.questions is None else self.questions.table
        return np.array(self.numbers, np.float64), self.cumulative, self.layout.runs, table


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
    numbers = Numbers(
        low=low,
        high=high,
        gamma=float(gamma),
        observation_words=record.observation_words,
        reward=record.reward.offset,
        achieved=0,
        goal_words=0,
        log_discount=0.0,
        action_words=record.action.width,
        row_action=layout.action_offset,
        row_next=layout.next_offset,
        row_goal=0,
        behind=layout.stacking.k - 1,
        zero_padding=layout.stacking.zero,
        state_words=record.state_words,
    )
    if hindsight is None:
        return Recipe(layout, numbers, np.empty(0), None, None, priorities)
    achieved, desired = _goal_fields(record)
    goal_space = observation_space["achieved_goal"]  # type: ignore[index]
    tried = probe(hindsight, goal_space, info_space, float_dtype)
    numbers = numbers._replace(
        achieved=achieved.offset,
        goal_words=achieved.width,
        log_discount=math.log(hindsight.geometric_discount),
        row_goal=layout.offset_of(desired),
    )
    cumulative = cumulative_probabilities(hindsight)
    questions = layout_questions(achieved, record.info)
    return Recipe(layout, numbers, cumulative, tried, questions, priorities)


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
