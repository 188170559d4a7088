"""Whole episodes: into the store, and out of it again."""

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from woodshed.errors import WoodshedError
from woodshed.replay.records import RecordLayout, as_records, as_tree
from woodshed.replay.store import (
    CUT,
    ENDING_BITS,
    IS_OPEN,
    NEWEST,
    STEP,
    TERMINATED,
    TRUNCATED,
    Store,
    ending_at,
    has_transition,
    oldest_row,
    place_of,
    rows_left,
    rows_since,
)
from woodshed.replay.tree import Tree, TreeLike
from woodshed.replay.writing import Step, check_step

Ending: TypeAlias = Literal["terminated", "truncated", "cut", "open"]

_ENDINGS: dict[Ending, int] = {
    "terminated": TERMINATED,
    "truncated": TRUNCATED,
    "cut": CUT,
    "open": 0,
}


class Episode(NamedTuple):
    """T transitions of one environment, one after the other."""

    observation: TreeLike
    """Tree of `[T + 1, …]`: the observation after the last transition is the last one."""
    action: TreeLike
    """`[T, …]`."""
    reward: TreeLike
    """`[T]`."""
    ending: Ending
    """How it ended; `open`: not yet."""
    info: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """The declared info keys, `[T, …]` each."""
    recurrent_state: TreeLike | None = None
    """Tree of `[T, …]`: the state before each step, where it was declared."""


class OpenEpisode(NamedTuple):
    """An episode that goes on, as far as it is stored."""

    first_step: int
    """Steps of it before the first one that is stored: 0 unless its start was overwritten."""
    episode: Episode
    """Its `ending` is `open`."""


def check_episode(layout: RecordLayout, episode: Episode) -> Step:
    """Take an episode apart into its transitions.

    Raises:
        WoodshedError: for a wrong key, shape or ending, or an episode without a transition.
    """
    if episode.ending not in _ENDINGS:
        raise WoodshedError(f"ending is {episode.ending!r}, expected one of {', '.join(_ENDINGS)}")
    count = np.shape(episode.reward)[0] if np.ndim(episode.reward) else 0
    if count == 0:
        raise WoodshedError("an episode needs at least one transition, with its reward in `[T]`")
    last = np.arange(count) == count - 1
    return check_step(
        layout,
        count,
        observation=_slice(episode.observation, slice(0, -1)),
        action=episode.action,
        reward=episode.reward,
        terminated=last & (episode.ending == "terminated"),
        truncated=last & (episode.ending == "truncated"),
        next_observation=_slice(episode.observation, slice(1, None)),
        info=episode.info,
        recurrent_state=episode.recurrent_state,
    )


def read_episode(
    store: Store, layout: RecordLayout, lane: int, row: int
) -> tuple[int, Episode] | None:
    """Copy the first episode of a lane that has a transition at a row or after it.

    Args:
        store: only read.
        layout: of its records.
        lane: of the episode.
        row: number of the row to look from.

    Returns:
        The number of the row after the episode, and the episode; None where there is none.
    """
    episodes = store.episodes
    newest = episodes.lanes[lane, NEWEST]
    row = max(row, oldest_row(episodes, lane))
    while row <= newest and not has_transition(episodes, lane, place_of(episodes, lane, row)):
        row += 1  # what is left of an episode whose transitions are overwritten
    if row > newest:
        return None
    end = row + rows_left(episodes, lane, place_of(episodes, lane, row)) + 1
    return end, _copy_rows(store, layout, lane, range(row, end))


def read_open_episode(store: Store, layout: RecordLayout, lane: int) -> OpenEpisode | None:
    """Copy the open episode of a lane; None where it has none.

    Args:
        store: only read.
        layout: of its records.
        lane: of the episode.
    """
    episodes = store.episodes
    if not episodes.lanes[lane, IS_OPEN]:
        return None
    newest = int(episodes.lanes[lane, NEWEST])
    back = rows_since(episodes, lane, place_of(episodes, lane, newest), newest)
    rows = range(newest - back, newest + 1)
    first_step = episodes.marks[lane, place_of(episodes, lane, rows.start), STEP] >> ENDING_BITS
    return OpenEpisode(int(first_step), _copy_rows(store, layout, lane, rows))


def _copy_rows(store: Store, layout: RecordLayout, lane: int, rows: range) -> Episode:
    """Copy the episode whose rows these are, the one after its last transition included."""
    first = place_of(store.episodes, lane, rows.start)
    places = (first + np.arange(len(rows))) % store.words.shape[1]
    words = store.words[lane, places]
    records = as_records(words, layout.dtype)
    bits = ending_at(store.episodes, lane, places[-2])
    found: list[Ending] = [name for name, bit in _ENDINGS.items() if bits & bit]
    return Episode(
        observation=as_tree(layout.observation_leaves, records),
        action=records["action"][:-1],
        reward=records["reward"][:-1],
        ending=found[0] if found else "open",
        info={field.leaf.path[-1]: records[field.leaf.name][:-1] for field in layout.info},
        recurrent_state=as_tree(layout.state_leaves, records[:-1]),
    )


def _slice(tree: TreeLike, part: slice) -> Tree:
    if isinstance(tree, dict):
        return {key: _slice(child, part) for key, child in tree.items()}
    array = np.asarray(tree)
    if array.ndim == 0:
        raise WoodshedError("an episode's observation is a single number, expected `[T + 1, …]`")
    return array[part]
