"""Sequences: consecutive steps of one episode, for recurrent learners.

A picked row is the first step to learn from. `burn_in` steps before it and `length - 1` after it
come with it, as far as the episode has them; so every transition is learnt from equally often,
those at the two ends of an episode too.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.batch import SequenceBatch
from woodshed.replay.collect import copy_rows, copy_words, view_observation
from woodshed.replay.draw import Drawn
from woodshed.replay.kernel import kernel
from woodshed.replay.recipe import Recipe
from woodshed.replay.records import as_records
from woodshed.replay.reduce import reduce_one
from woodshed.replay.relabel import relabel
from woodshed.replay.store import Store, first_row, rows_left
from woodshed.replay.windows import Windows, draw_length


class Shape(NamedTuple):
    """The time axis of a sequence: T = burn_in + length steps."""

    burn_in: int
    """Steps before the picked row."""
    length: int
    """Steps from the picked row on."""


class Reduced(NamedTuple):
    """Each step's own window, `[B, T]`; zeros where there is no step."""

    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    steps: NDArray[np.int32]
    mask: NDArray[np.bool_]


def collect_sequences(store: Store, recipe: Recipe, drawn: Drawn, shape: Shape) -> SequenceBatch:
    """Make sequences around picked rows.

    Args:
        store: only read.
        recipe: how batches are made.
        drawn: the picked rows and their goals.
        shape: of the sequences.
    """
    layout, picked = recipe.layout, drawn.windows
    batch, steps, farthest = picked.row.size, sum(shape), recipe.n_step[1]
    whole = span(store, picked, shape, farthest)
    relabelled = relabel(store, recipe, whole, steps + farthest)
    reduced = Reduced(
        reward=np.zeros((batch, steps), np.float32),
        discount=np.zeros((batch, steps), np.float32),
        steps=np.zeros((batch, steps), np.int32),
        mask=np.zeros((batch, steps), np.bool_),
    )
    _reduce(
        store.words,
        store.episodes,
        drawn.stream,
        (picked, whole, relabelled),
        (layout.reward.offset, recipe.gamma, shape.burn_in, *recipe.n_step),
        reduced,
    )
    seen = _rows(picked, whole, shape.burn_in, steps + farthest, whole.steps)
    acted = _rows(picked, whole, shape.burn_in, steps, whole.steps - 1)
    words = np.empty((batch, steps + farthest, layout.words), np.uint32)
    words_acted = np.empty((batch, steps, layout.words), np.uint32)
    _copy_observations(store.words, seen, recipe.goal_places, words.reshape(-1, layout.words))
    copy_rows(store.words, acted.lane, acted.row, words_acted.reshape(-1, layout.words))
    return SequenceBatch(
        observation=view_observation(layout, as_records(words, layout.dtype)),
        action=as_records(words_acted, layout.dtype)["action"],
        reward=reduced.reward,
        discount=reduced.discount,
        steps=reduced.steps,
        mask=reduced.mask,
        weight=drawn.weight,
        handle=picked.row * store.words.shape[0] + picked.lane,
        relabelled=picked.goal_row >= 0,
    )


def span(store: Store, picked: Windows, shape: Shape, farthest: int) -> Windows:
    """The windows from the first burn-in step to the last bootstrap observation, where they exist.

    Args:
        store: only read.
        picked: the picked rows.
        shape: of the sequences.
        farthest: the most steps of a return.
    """
    whole = picked._replace(row=np.empty_like(picked.row), steps=np.empty_like(picked.steps))
    _span(store.episodes, picked, whole, shape.burn_in, shape.length - 1 + farthest)
    return whole


@kernel
def _span(episodes, picked, whole, behind, ahead):  # type: ignore[no-untyped-def]
    for b in range(picked.row.size):
        lane, row = picked.lane[b], picked.row[b]
        start = max(first_row(episodes, lane, row), row - behind)
        whole.row[b] = start
        whole.steps[b] = row + min(rows_left(episodes, lane, row), ahead) - start


@kernel
def _reduce(words, episodes, stream, windows, settings, reduced):  # type: ignore[no-untyped-def]
    """Reduce the window of every step; see `reduce_one`.

    Args:
        words: `[L, R, W]`, the records.
        episodes: the episode index.
        stream: of random numbers, for drawn lengths.
        windows: picked rows, whole sequences, and what hindsight says of their steps.
        settings: reward_word, gamma, burn_in, and the closed range of n.
        reduced: filled.
    """
    picked, whole, relabelled = windows
    reward_word, gamma, burn_in, low, high = settings
    reward, discount, steps, mask = reduced
    stored_reward = words.view(np.float32)
    for b in range(picked.row.size):
        lane, start, first = picked.lane[b], whole.row[b], relabelled.first[b]
        last = picked.row[b] + rows_left(episodes, lane, picked.row[b])
        ended = False  # by a relabelled termination: the steps after it never happened
        for t in range(mask.shape[1]):
            row = picked.row[b] - burn_in + t
            if row < start or row >= last or ended:
                continue
            n = draw_length(stream, low, high)
            reward[b, t], discount[b, t], steps[b, t] = reduce_one(
                stored_reward,
                episodes,
                lane,
                row,
                min(n, last - row),
                relabelled,
                first if first < 0 else first + row - start,
                reward_word,
                gamma,
            )
            mask[b, t] = True
            if first >= 0 and t >= burn_in:
                ended = relabelled.terminated[first + row - start]


def _rows(picked: Windows, whole: Windows, behind: int, count: int, most: NDArray[Any]) -> Windows:
    """`count` consecutive rows for each sequence, one after the other.

    Where a sequence has no such row the nearest one that it has stands in; the mask says so.

    Args:
        picked: the picked rows.
        whole: the sequences.
        behind: steps before the picked row.
        count: rows of each.
        most: `[B]`, the last row that may be asked for, counted from the sequence's start.
    """
    first, last = whole.row[:, None], (whole.row + most)[:, None]
    wanted = picked.row[:, None] - behind + np.arange(count)
    return Windows(
        lane=np.repeat(picked.lane, count),
        row=np.clip(wanted, first, last).ravel(),
        steps=np.repeat(picked.steps, count),
        goal_lane=np.repeat(picked.goal_lane, count),
        goal_row=np.repeat(picked.goal_row, count),
    )


@kernel
def _copy_observations(words, rows, goals, out):  # type: ignore[no-untyped-def]
    """Copy the records of rows to `out` `[B, W]`, with the new goals."""
    achieved, desired, width = goals
    copy_rows(words, rows.lane, rows.row, out)
    for b in range(rows.row.size):
        if rows.goal_row[b] >= 0:
            goal_lane, goal_row = rows.goal_lane[b], rows.goal_row[b]
            copy_words(words, goal_lane, goal_row, achieved, width, out, b, desired)
