"""All that a sample draws at random: start rows, lengths of windows, goals."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.goals import draw_goals
from woodshed.replay.kernel import kernel
from woodshed.replay.pick import count_rows, pick_uniform
from woodshed.replay.priorities import pick_prioritised
from woodshed.replay.questions import Asked, view_questions
from woodshed.replay.recipe import Recipe
from woodshed.replay.store import SAMPLEABLE, Store
from woodshed.replay.stream import Stream
from woodshed.replay.windows import Plan, empty_plan, measure

EMPTY, ALL_ZERO = -1, -2  # what `draw` answers when nothing can be picked


def check_drawn(answer: int) -> None:
    """Say what a kernel's answer means.

    Raises:
        WoodshedError: when nothing can be sampled.
    """
    if answer == EMPTY:
        raise WoodshedError("the replay is empty: add a step before sampling")
    if answer == ALL_ZERO:
        raise WoodshedError("every stored transition has priority 0: nothing can be picked")


class Room(NamedTuple):
    """What a sample works in; none of it is in the batch, so the next sample can use it again."""

    plan: Plan
    """The windows that are drawn."""
    whole: Plan
    """The windows that span the sequences around them."""
    stream: Stream
    """Of random numbers."""
    before: NDArray[np.int64]
    """`[L+1]`, see `count_rows`."""
    u: NDArray[np.float64]
    """`[B]` to pick by priority; empty without."""
    asked: NDArray[np.uint32]
    """`[question words, most]`, what hindsight is asked about."""
    views: Asked | None
    """The same as arrays; None without hindsight."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What a kernel is handed: all but the views."""
        return self[:6]


def make_room(store: Store, recipe: Recipe, batch: int, most: int) -> Room:
    """Room for a batch with up to `most` steps."""
    questions = recipe.questions
    asked = np.empty((0 if questions is None else questions.words, most), np.uint32)
    return Room(
        plan=empty_plan(batch),
        whole=empty_plan(batch),
        stream=np.empty(1, np.uint64),
        before=np.empty(store.words.shape[0] + 1, np.int64),
        u=np.empty(0 if recipe.priorities is None else batch),
        asked=asked,
        views=None if questions is None else view_questions(questions, asked),
    )


@kernel
def draw(store, room, windows, weight, cumulative, beta, numbers):  # type: ignore[no-untyped-def]
    """Draw the windows of a batch: all but `first_asked`.

    Args:
        store: only read.
        room: the arrays of a `Room`.
        windows: of its plan, filled.
        weight: `[B]` importance weights, filled.
        cumulative: from `cumulative_probabilities`.
        beta: exponent of the weights; without priorities it does nothing.
        numbers: `Numbers`.

    Returns:
        0, or why nothing was drawn.
    """
    _, episodes, tree = store
    _, _, stream, before, u, _ = room
    stored = np.int64(0)
    for lane in range(before.size - 1):
        stored += episodes.lanes[lane, SAMPLEABLE]
    if stored == 0:
        return EMPTY
    count_rows(episodes, before)
    if tree.nodes.size == 0:
        pick_uniform(episodes, before, stream, windows)
        weight[:] = 1.0
    elif not pick_prioritised(episodes, tree, stream, windows, u, beta, weight):
        return ALL_ZERO
    measure(episodes, stream, windows, numbers.low, numbers.high)
    draw_goals(episodes, before, stream, windows, cumulative, numbers.log_discount)
    return 0
