"""Sequences: consecutive steps of one episode, for recurrent learners.

A picked row is the first step to learn from. `burn_in` steps before it and `length - 1` after it
come with it, as far as the episode has them; so every transition is learnt from equally often,
those at the two ends of an episode too.
"""

from typing import NamedTuple

import numpy as np

from woodshed.replay.batch import SequenceBatch
from woodshed.replay.collect import copy_goal, copy_observation, copy_words, fetch_window
from woodshed.replay.draw import Room, check_drawn, draw
from woodshed.replay.kernel import kernel
from woodshed.replay.questions import gather_questions
from woodshed.replay.recipe import Recipe, numbers_of
from woodshed.replay.records import as_records, as_tree
from woodshed.replay.reduce import reduce_window
from woodshed.replay.relabel import ask
from woodshed.replay.store import (
    Store,
    arrays_of,
    has_transition,
    rows_left,
    rows_since,
    store_of,
    wrap,
)
from woodshed.replay.windows import draw_length, terminates, windows_of


class Shape(NamedTuple):
    """The time axis of a sequence: T = burn_in + length steps."""

    burn_in: int
    """Steps before the picked row."""
    length: int
    """Steps from the picked row on."""


def sample_sequences(
    store: Store, recipe: Recipe, room: Room, shape: Shape, beta: float
) -> SequenceBatch:
    """Make a batch of sequences around picked rows.

    Args:
        store: only read.
        recipe: how the batch is made.
        room: for a batch with up to `seen_steps` to a sequence; its stream is begun.
        shape: of the sequences.
        beta: exponent of the importance weights.

    Raises:
        WoodshedError: when nothing can be sampled.
    """
    layout, record, arrays = recipe.layout, recipe.layout.record, arrays_of(store)
    batch, steps, seen = room.plan.shape[1], sum(shape), seen_steps(recipe, shape)
    weight = np.empty(batch, np.float32)
    count = _draw(arrays, recipe.arrays, room.arrays, beta, weight, tuple(shape))
    check_drawn(count)
    answers = ask(recipe, room.views, count)
    words = np.empty((batch, seen, layout.next_offset), np.uint32)
    reward, discount = np.zeros((2, batch, steps), np.float32)
    taken, mask = np.zeros((batch, steps), np.int32), np.zeros((batch, steps), np.bool_)
    handle, relabelled = np.empty(batch, np.int64), np.empty(batch, np.bool_)
    state = np.empty((batch, record.state_words), np.uint32)
    columns = reward, discount, taken, mask, handle, relabelled, state
    _collect(arrays, recipe.arrays, room.arrays, shape.burn_in, answers, words, columns)
    rows = as_records(words, layout.step_dtype)
    return SequenceBatch(
        observation=layout.view(rows),
        action=rows["action"][:, :steps],
        reward=reward,
        discount=discount,
        steps=taken,
        mask=mask,
        weight=weight,
        handle=handle,
        relabelled=relabelled,
        recurrent_state=as_tree(record.state_leaves, as_records(state, record.state_dtype)),
    )


def seen_steps(recipe: Recipe, shape: Shape) -> int:
    """Observations of a sequence: one of each step, and those to bootstrap from."""
    return sum(shape) + recipe.numbers.high


@kernel
def _draw(arrays, recipe, room, beta, weight, shape):  # type: ignore[no-untyped-def]
    """Draw rows, lay the sequences around them, and gather what hindsight is asked about.

    Args:
        arrays: of the store.
        recipe: its arrays.
        room: its arrays.
        beta: exponent of the importance weights.
        weight: `[B]`, filled.
        shape: `Shape`, as a tuple.
    """
    packed, cumulative, _, table = recipe
    store, numbers, words = store_of(arrays), numbers_of(packed), arrays[0]
    picked, whole, asked = windows_of(room[0]), windows_of(room[1]), room[5]
    burn_in, length = shape
    answer = draw(store, room, picked, weight, cumulative, beta, numbers)
    if answer < 0:
        return answer
    for b in range(picked.row.size):
        lane, place = picked.lane[b], picked.place[b]
        since = rows_since(store.episodes, lane, place, picked.row[b])
        if not has_transition(store.episodes, lane, wrap(place - since, words.shape[1])):
            since -= numbers.behind  # the episode's start is overwritten: these lack frames
        behind = min(burn_in, since)
        ahead = min(length - 1 + numbers.high, rows_left(store.episodes, lane, place))
        whole.lane[b], whole.row[b] = lane, picked.row[b] - behind
        whole.place[b] = wrap(place - behind, words.shape[1])
        whole.steps[b] = behind + ahead
        whole.goal_lane[b], whole.goal_place[b] = picked.goal_lane[b], picked.goal_place[b]
        fetch_window(words, whole, b, numbers)
    count = np.int64(0)
    for b in range(picked.row.size):
        whole.first_asked[b] = -1
        if whole.goal_place[b] >= 0:
            whole.first_asked[b] = count
            count = gather_questions(words, whole, b, table, asked, count)
    return count


@kernel
def _collect(arrays, recipe, room, burn_in, answers, out, columns):  # type: ignore[no-untyped-def]
    """Reduce the window of every step, and copy what a batch of sequences holds.

    Args:
        arrays: of the store.
        recipe: its arrays.
        room: its arrays, filled by `_draw`.
        burn_in: steps before the picked row.
        answers: what hindsight says, counted from the first step of a sequence; see `Answers`.
        out: `[B, T + n, row words]`, filled: where a sequence has no such row, the nearest one.
        columns: reward, discount, steps and mask, `[B, T]` zeros, filled where there is a step;
            handle and relabelled, `[B]`, and the recurrent state, `[B, words]`, filled.
    """
    packed, _, runs, _ = recipe
    store, numbers, words = store_of(arrays), numbers_of(packed), arrays[0]
    picked, whole, stream = windows_of(room[0]), windows_of(room[1]), room[2]
    reward, discount, steps, mask, handle, relabelled, state = columns
    n_lanes, rows, _ = words.shape
    stored_reward = words.view(np.float32)
    flat = out.reshape(-1, out.shape[2])
    for b in range(picked.row.size):
        lane, row = picked.lane[b], picked.row[b]
        behind, first = row - whole.row[b], whole.first_asked[b]
        left = rows_left(store.episodes, lane, picked.place[b])
        since = rows_since(store.episodes, lane, picked.place[b], row)
        handle[b] = row * n_lanes + lane
        relabelled[b] = picked.goal_place[b] >= 0
        if numbers.state_words:
            start, count = words.shape[2] - numbers.state_words, numbers.state_words
            copy_words(words, lane, whole.place[b], start, count, state, b, 0)
        ended = False  # by a relabelled termination: the steps after it never happened
        for t in range(out.shape[1]):
            at = b * out.shape[1] + t
            step = t - burn_in  # from the picked row
            observed, acted = max(-behind, min(step, left)), max(-behind, min(step, left - 1))
            place = wrap(picked.place[b] + observed, rows)
            copy_observation(words, lane, place, since + observed, runs, numbers, flat, at, 0)
            copy_goal(words, picked, b, numbers, flat, at, 0)
            if t >= mask.shape[1]:
                continue
            place, target = wrap(picked.place[b] + acted, rows), numbers.row_action
            first_word, count = numbers.observation_words, numbers.action_words
            copy_words(words, lane, place, first_word, count, flat, at, target)
            if step != acted or ended:
                continue
            asked = -1 if first < 0 else first + behind + step
            n = min(draw_length(stream, numbers.low, numbers.high), left - step)
            ends = terminates(store.episodes, lane, place, n)
            reward[b, t], discount[b, t], steps[b, t] = reduce_window(
                stored_reward, lane, place, n, ends, answers, asked, numbers
            )
            mask[b, t] = True
            # Stored terminations are the last step's anyway.
            ended = asked >= 0 and step >= 0 and answers[1].size > 0 and answers[1][asked]
