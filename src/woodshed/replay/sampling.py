"""Sampling windows: draw (pick, window, goals), collect, relabel, reduce.

Two kernels, with the functions of hindsight between them, since each call of one from Python costs
microseconds. The first one collects whole windows; the second one gives those with a new goal the
rewards that they are due, and mends the few that end sooner for it.
"""

import numpy as np

from woodshed.replay.batch import Batch
from woodshed.replay.collect import AHEAD, copy_goal, copy_observation, copy_step, fetch_window
from woodshed.replay.draw import Room, check_drawn, draw
from woodshed.replay.kernel import kernel
from woodshed.replay.questions import gather_questions
from woodshed.replay.recipe import Recipe, numbers_of
from woodshed.replay.records import as_records
from woodshed.replay.reduce import reduce_window
from woodshed.replay.relabel import NO_ANSWERS, ask
from woodshed.replay.store import Store, arrays_of, rows_since, store_of, wrap
from woodshed.replay.windows import windows_of


def sample_windows(store: Store, recipe: Recipe, room: Room, beta: float) -> Batch:
    """Make a batch of windows.

    Args:
        store: only read.
        recipe: how the batch is made.
        room: for a batch with up to `n_step` steps to a window; its stream is begun.
        beta: exponent of the importance weights.

    Raises:
        WoodshedError: when nothing can be sampled.
    """
    layout, arrays = recipe.layout, arrays_of(store)
    batch = room.plan.shape[1]
    words = np.empty((batch, layout.words), np.uint32)
    reward, discount, weight = np.empty((3, batch), np.float32)
    handle, steps = np.empty(batch, np.int64), np.empty(batch, np.int32)
    relabelled = np.empty(batch, np.bool_)
    columns = reward, discount, weight, handle, steps, relabelled
    count = _draw(arrays, recipe.arrays, room.arrays, beta, words, columns)
    check_drawn(count)
    if count:
        answers = ask(recipe, room.views, count)
        _answer(arrays, recipe.arrays, room.plan, answers, words, columns)
    rows = as_records(words, layout.dtype)
    return Batch(
        layout.view(rows),
        rows["action"],
        reward,
        discount,
        layout.view(rows, following=True),
        weight,
        handle,
        steps,
        relabelled,
    )


@kernel
def _draw(arrays, recipe, room, beta, out, columns):  # type: ignore[no-untyped-def]
    """Draw windows, copy what a batch holds of them, and gather what hindsight is asked about.

    Args:
        arrays: of the store.
        recipe: its arrays.
        room: its arrays.
        beta: exponent of the importance weights.
        out: `[B, row words]`, filled.
        columns: reward, discount, weight, handle, steps, relabelled, `[B]` each; filled, but for
            the reward and discount of relabelled windows.

    Returns:
        How many steps hindsight is asked about, or why nothing was drawn.
    """
    packed, cumulative, runs, table = recipe
    store, windows, numbers = store_of(arrays), windows_of(room[0]), numbers_of(packed)
    reward, discount, weight, handle, steps, relabelled = columns
    drawn = draw(store, room, windows, weight, cumulative, beta, numbers)
    if drawn < 0:
        return drawn
    words, asked = store.words, room[5]
    stored_reward, count = words.view(np.float32), np.int64(0)
    for b in range(min(AHEAD, handle.size)):
        fetch_window(words, windows, b, numbers)
    for b in range(handle.size):
        if b + AHEAD < handle.size:
            fetch_window(words, windows, b + AHEAD, numbers)
        lane, place = windows.lane[b], windows.place[b]
        since = _frames_before(store.episodes, windows, b, numbers)
        copy_step(words, lane, place, since, runs, numbers, out, b)
        copy_goal(words, windows, b, numbers, out, b, 0)
        _copy_following(words, windows, b, since, numbers, runs, out)
        handle[b] = windows.row[b] * words.shape[0] + lane
        steps[b] = windows.steps[b]
        relabelled[b] = windows.goal_place[b] >= 0
        if relabelled[b]:
            windows.first_asked[b] = count
            count = gather_questions(words, windows, b, table, asked, count)
        else:
            reward[b], discount[b], _ = reduce_window(
                stored_reward, lane, place, steps[b], windows.ends[b] != 0, NO_ANSWERS, -1, numbers
            )
    return count


@kernel
def _frames_before(episodes, windows, b, numbers):  # type: ignore[no-untyped-def]
    """Steps since the first row of window b's episode, where frames are stacked."""
    if numbers.behind == 0:
        return np.int64(0)
    return rows_since(episodes, windows.lane[b], windows.place[b], windows.row[b])


@kernel
def _copy_following(words, windows, b, since, numbers, runs, out):  # type: ignore[no-untyped-def]
    """Copy the observation after window b, which starts `since` steps into its episode."""
    lane, steps = windows.lane[b], windows.steps[b]
    place = wrap(windows.place[b] + steps, words.shape[1])
    start = numbers.row_next
    copy_observation(words, lane, place, since + steps, runs, numbers, out, b, start)
    copy_goal(words, windows, b, numbers, out, b, start)


@kernel
def _answer(arrays, recipe, plan, answers, out, columns):  # type: ignore[no-untyped-def]
    """Reduce the relabelled windows with what hindsight answered; for the arguments see `_draw`."""
    packed, _, runs, _ = recipe
    store, windows, numbers = store_of(arrays), windows_of(plan), numbers_of(packed)
    reward, discount, _, _, steps, relabelled = columns
    stored_reward = store.words.view(np.float32)
    for b in range(relabelled.size):
        if not relabelled[b]:
            continue
        lane, place, first = windows.lane[b], windows.place[b], windows.first_asked[b]
        reward[b], discount[b], steps[b] = reduce_window(
            stored_reward, lane, place, steps[b], windows.ends[b] != 0, answers, first, numbers
        )
        if steps[b] < windows.steps[b]:
            windows.steps[b] = steps[b]
            since = _frames_before(store.episodes, windows, b, numbers)
            _copy_following(store.words, windows, b, since, numbers, runs, out)
