"""The replay's definitions in plain Python: a log of every lane, slow and obvious.

Written from the definitions alone, never from the engine: it keeps everything that was ever
written and works out by counting what a ring of `rows_per_lane` rows still holds.
What is sampled from it is in `windows`, `goals`, `sequences` and `priorities` beside this file.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.reference.frames import Frames, first_whole, frame_numbers, stack_frames

Array = NDArray[Any]
Tree = Array | dict[str, "Tree"]
Ending = Literal["open", "terminated", "truncated", "cut"]


def as_stored(tree: Any) -> Tree:
    """A copy with floats as float32, everything else as it is."""
    if isinstance(tree, dict):
        return {key: as_stored(leaf) for key, leaf in tree.items()}
    leaf = np.array(tree)
    return leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf


def take(tree: Any, index: int) -> Any:
    """Entry `index` of every leaf's leading axis; None of None."""
    if isinstance(tree, dict):
        return {key: take(leaf, index) for key, leaf in tree.items()}
    return None if tree is None else tree[index]


def same(left: Any, right: Any) -> bool:
    """Whether two trees have the same keys and, leaf by leaf, the same shape and values."""
    if left is None or right is None:
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left.shape == right.shape and (left == right).all())


@dataclass
class Row:
    """One observation; what happened there is filled in once an action was taken."""

    observation: Tree
    action: Array | None = None
    reward: float = math.nan
    terminated: bool = False
    info: dict[str, Array] = field(default_factory=dict)
    recurrent_state: Tree | None = None


@dataclass
class Episode:
    """T+1 rows of one lane; `first` is the number of its first row in that lane."""

    first: int
    rows: list[Row]
    ending: Ending = "open"

    @property
    def ended(self) -> bool:
        """Whether nothing can be added to it any more."""
        return self.ending != "open"

    @property
    def last(self) -> int:
        """Number of its last row so far."""
        return self.first + len(self.rows) - 1


class Place(NamedTuple):
    """Where a stored row lies."""

    lane: int
    episode: Episode
    number: int
    """The row's number in its lane."""
    oldest: int
    """Number of the oldest row of the episode that is still stored."""
    whole: int
    """Number of the oldest row of the episode all of whose frames are still stored."""
    frames: Frames | None = None

    def row(self, number: int) -> Row:
        """Row `number` of this episode, which must still be stored."""
        assert self.oldest <= number <= self.episode.last
        return self.episode.rows[number - self.episode.first]

    def observation(self, number: int) -> Tree:
        """The observation of row `number`, with the frames before it."""
        if self.frames is None:
            return self.row(number).observation
        numbers = frame_numbers(self.frames, number)
        there = [self.row(frame) for frame in numbers if frame >= self.episode.first]
        stack: Tree = stack_frames([row.observation for row in there], self.frames)
        return stack


class ReferenceReplay:
    """Everything ever written, and which rows of it the real store still holds."""

    def __init__(self, capacity: int, n_envs: int, frames: Frames | None = None) -> None:
        self.n_envs, self.frames = n_envs, frames
        self.rows_per_lane = math.ceil(capacity / n_envs) + 1
        self.lanes: list[list[Episode]] = [[] for _ in range(n_envs)]

    def add(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        next_observation: Any,
        info: Mapping[str, Any] | None = None,
        recurrent_state: Any = None,
        mask: Any = None,
    ) -> None:
        """Log one vector step, lane by lane."""
        for lane in range(self.n_envs):
            if mask is not None and not mask[lane]:
                continue
            episodes = self.lanes[lane]
            here = as_stored(take(observation, lane))
            if not episodes or episodes[-1].ended:
                episodes.append(Episode(first=self.pushed(lane), rows=[Row(here)]))
            episode = episodes[-1]
            row = episode.rows[-1]
            assert same(row.observation, here), "the history itself is broken"
            stored_action = as_stored(take(action, lane))
            assert not isinstance(stored_action, dict)
            row.action = stored_action
            row.reward = float(np.float32(take(reward, lane)))
            row.terminated = bool(take(terminated, lane))
            if recurrent_state is not None:
                row.recurrent_state = as_stored(take(recurrent_state, lane))
            for key, column in (info or {}).items():
                value = as_stored(take(column, lane))
                assert not isinstance(value, dict)
                row.info[key] = value
            episode.rows.append(Row(as_stored(take(next_observation, lane))))
            if row.terminated:
                episode.ending = "terminated"
            elif take(truncated, lane):
                episode.ending = "truncated"

    def cut(self, mask: Any = None) -> None:
        """End the open episodes of these lanes; a lane without one stays as it is."""
        for lane in range(self.n_envs):
            chosen = mask is None or mask[lane]
            if chosen and self.lanes[lane] and not self.lanes[lane][-1].ended:
                self.lanes[lane][-1].ending = "cut"

    def pushed(self, lane: int) -> int:
        """How many rows were ever pushed to a lane."""
        return self.lanes[lane][-1].last + 1 if self.lanes[lane] else 0

    def oldest(self, lane: int) -> int:
        """Number of the oldest row that a lane still holds."""
        return max(0, self.pushed(lane) - self.rows_per_lane)

    def places(self) -> Iterator[Place]:
        """Every sampleable row: stored with all its frames, and an action was taken there."""
        for lane in range(self.n_envs):
            for episode in self.stored(lane):
                oldest, whole = self.kept(lane, episode)
                for number in range(whole, episode.last):
                    yield Place(lane, episode, number, oldest, whole, self.frames)

    def stored(self, lane: int) -> list[Episode]:
        """A lane's episodes with a row that is still stored."""
        oldest = self.oldest(lane)
        return [episode for episode in self.lanes[lane] if episode.last >= oldest]

    def kept(self, lane: int, episode: Episode) -> tuple[int, int]:
        """The oldest row of a stored episode that is left, and the oldest with all its frames."""
        oldest = max(self.oldest(lane), episode.first)
        return oldest, first_whole(self.frames, episode.first, oldest)

    def by_handle(self) -> dict[int, Place]:
        """Every sampleable row under its handle."""
        return {place.number * self.n_envs + place.lane: place for place in self.places()}

    def __len__(self) -> int:
        """How many rows can be sampled."""
        return sum(
            max(0, episode.last - self.kept(lane, episode)[1])
            for lane in range(self.n_envs)
            for episode in self.stored(lane)
        )
