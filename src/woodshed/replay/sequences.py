"""Sequences: consecutive steps of one episode, for recurrent learners.

A picked row is the first step to learn from. `burn_in` steps before it and `length - 1` after it
come with it, as far as the episode has them; so every transition is learnt from equally often,
those at the two ends of an episode too.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.replay.batch import SequenceBatch
from woodshed.replay.collect import copy_goals
from woodshed.replay.draw import Drawn
from woodshed.replay.gather import copy_rows, empty_words, plan_blocks, view_blocks
from woodshed.replay.recipe import Recipe
from woodshed.replay.records import Field
from woodshed.replay.relabel import nothing_relabelled, relabel
from woodshed.replay.store import TERMINATED, Store, first_row, rows_left
from woodshed.replay.stream import below
from woodshed.replay.tree import unflatten
from woodshed.replay.windows import Windows


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
    picked, goals = drawn.windows, recipe.goals
    batch, steps, farthest = picked.row.size, sum(shape), recipe.n_step[1]
    whole = span(store, picked, shape, farthest)
    if goals is None:
        relabelled = nothing_relabelled(batch)
    else:
        blocks = recipe.goal_blocks(batch * (steps + farthest))
        relabelled = relabel(store, whole, goals.hindsight, blocks)
    reduced = Reduced(
        reward=np.zeros((batch, steps), np.float32),
        discount=np.zeros((batch, steps), np.float32),
        steps=np.zeros((batch, steps), np.int32),
        mask=np.zeros((batch, steps), np.bool_),
    )
    _reduce(
        store.words.view(np.float32),
        store.episodes,
        drawn.stream,
        (picked, whole, relabelled),
        (recipe.layout.reward.offset, recipe.gamma, shape.burn_in, *recipe.n_step),
        reduced,
    )
    fields = recipe.layout.observation
    seen = _rows(picked, whole, shape.burn_in, steps + farthest, whole.steps)
    acted = _rows(picked, whole, shape.burn_in, steps, whole.steps - 1)
    observation = _gather(store, recipe, seen, fields, batch)
    (action,) = _gather(store, recipe, acted, (recipe.layout.action,), batch)
    return SequenceBatch(
        observation=unflatten([field.leaf for field in fields], observation),
        action=action,
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


@njit(nogil=True, cache=True)
def _span(episodes, picked, whole, behind, ahead):  # type: ignore[no-untyped-def]
    for b in range(picked.row.size):
        lane, row = picked.lane[b], picked.row[b]
        start = max(first_row(episodes, lane, row), row - behind)
        whole.row[b] = start
        whole.steps[b] = row + min(rows_left(episodes, lane, row), ahead) - start


@njit(nogil=True, cache=True)
def _reduce(words, episodes, stream, windows, settings, reduced):  # type: ignore[no-untyped-def]
    """Reduce the window of every step; see `reduce_windows`.

    Args:
        words: `[L, R, W]` float32 view of the records.
        episodes: the episode index.
        stream: of random numbers, for drawn lengths.
        windows: picked rows, whole sequences, and what hindsight says of their steps.
        settings: reward_word, gamma, burn_in, and the closed range of n.
        reduced: filled.
    """
    picked, whole, relabelled = windows
    reward_word, gamma, burn_in, low, high = settings
    reward, discount, steps, mask = reduced
    rows = words.shape[1]
    for b in range(picked.row.size):
        lane, start, first = picked.lane[b], whole.row[b], relabelled.first[b]
        last = picked.row[b] + rows_left(episodes, lane, picked.row[b])
        ended = False  # by a relabelled termination: the steps after it never happened
        for t in range(mask.shape[1]):
            row = picked.row[b] - burn_in + t
            if row < start or row >= last or ended:
                continue
            n = low if low == high else low + below(stream, high - low + 1)
            total, factor, terminated, k = 0.0, 1.0, False, 0
            while k < min(n, last - row) and not terminated:
                place = (row + k) % rows
                if first < 0:
                    total += factor * words[lane, place, reward_word]
                    terminated = episodes.ending[lane, place] & TERMINATED != 0
                else:
                    step = first + row + k - start
                    total += factor * relabelled.reward[step]
                    terminated = relabelled.terminated[step]
                factor *= gamma
                k += 1
            reward[b, t] = total
            discount[b, t] = 0.0 if terminated else factor
            steps[b, t] = k
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


def _gather(
    store: Store, recipe: Recipe, rows: Windows, fields: Sequence[Field], batch: int
) -> list[NDArray[Any]]:
    """Fields of some rows, `[batch, count, …]` each, with the new goals in them."""
    blocks = plan_blocks(fields, rows.row.size)
    out = empty_words(blocks)
    places = blocks.source, blocks.width, blocks.target
    copy_rows(store.words, rows.lane, rows.row, places, 0, len(fields), out)
    goals = recipe.goals
    if goals is not None and goals.desired in fields:
        targets = (blocks.target[fields.index(goals.desired)],)
        copy_goals(store.words, rows, goals.achieved.offset, goals.achieved.width, targets, out)
    arrays = view_blocks(out, blocks, rows.row.size)
    return [array.reshape(batch, -1, *array.shape[1:]) for array in arrays]
