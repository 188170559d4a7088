"""The replay buffer: episodes in, batches out."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.files import folder_path
from woodshed.replay import store as _store
from woodshed.replay.batch import Batch, SequenceBatch
from woodshed.replay.batch_layout import BatchLayout
from woodshed.replay.collect import blank_batch
from woodshed.replay.draw import Room, make_room
from woodshed.replay.episode import (
    Episode,
    OpenEpisode,
    check_episode,
    read_episode,
    read_open_episode,
)
from woodshed.replay.frames import FrameStack, check_frames
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.loading import read_saved
from woodshed.replay.memory import format_bytes
from woodshed.replay.placing import fill, place
from woodshed.replay.priorities import Priorities, update
from woodshed.replay.recipe import whole_number, write_recipe
from woodshed.replay.records import layout_of_spaces
from woodshed.replay.sampling import sample_windows
from woodshed.replay.saving import save
from woodshed.replay.segments import OnDisk, remember
from woodshed.replay.sequences import Shape, sample_sequences, seen_steps
from woodshed.replay.sharing import Sharing
from woodshed.replay.tree import TreeLike
from woodshed.replay.writing import Staging, Step, check_step, flags, make_staging, write


class ReplayBuffer:
    """Keeps the newest episodes of several environments; makes training batches from them.

    Each environment writes a *lane*: a ring of `rows_per_lane = ceil(capacity / n_envs) + 1` rows.
    An episode of T transitions takes T + 1 rows, since its final observation is kept. Every stored
    row is sampleable but the last one of each episode: so a full lane holds `rows_per_lane` minus
    the number of episode ends in it, which is the capacity for one long episode, and
    `rows_per_lane * T / (T + 1)` on average for episodes of T steps.

    Several threads may sample at once, and others write: a call that writes waits for those that
    sample, and the other way round, so each sees whole rows. A function of hindsight is called in
    the middle of a sample: it must not call the buffer.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        capacity: int = 1_000_000,
        *,
        n_envs: int = 1,
        gamma: float = 0.99,
        n_step: int | tuple[int, int] = 1,
        hindsight: Hindsight | None = None,
        priorities: Priorities | None = None,
        frames: FrameStack | None = None,
        info_space: Mapping[str, gymnasium.Space[Any]] | None = None,
        recurrent_state_space: gymnasium.Space[Any] | None = None,
        storage: str | os.PathLike[str] | None = None,
        seed: int = 0,
        float_dtype: DTypeLike = np.float32,
    ) -> None:
        """Allocate the buffer.

        Args:
            observation_space: of one environment; Dict spaces may be nested.
            action_space: of one environment.
            capacity: transitions over all lanes, see above for the exact number.
            n_envs: number of lanes.
            gamma: discount factor of one step, in [0, 1].
            n_step: steps of a window; a pair draws from that *closed* range for each window, every
                value equally likely.
            hindsight: goals to replace, or None. Needs a Dict observation space with
                `achieved_goal` and `desired_goal`.
            priorities: how rows are picked by priority; None picks all alike.
            frames: how many observations are stacked when sampled; None: each stands alone.
            info_space: spaces of the info keys to store; `compute_reward` gets them.
            recurrent_state_space: space of a recurrent policy's state; what is stored with each
                step comes back with the first one of a sequence.
            storage: a folder for a scratch file that holds the records, instead of memory; the file
                goes with the buffer, `save` is what keeps.
            seed: of the one generator that all sampling draws from.
            float_dtype: what floating observations, actions and info are stored as. Rewards are
                float32.

        Raises:
            WoodshedError: for a setting out of range, a space without fixed shape, a size that does
                not fit in memory, or a reward function that does not work.
        """
        self.capacity = whole_number(capacity, "capacity")
        self.n_envs = whole_number(n_envs, "n_envs")
        self.rows_per_lane = -(-self.capacity // self.n_envs) + 1
        info_space = dict(info_space or {})

        self._layout = layout_of_spaces(
            observation_space, action_space, info_space, recurrent_state_space, float_dtype
        )
        stacking = check_frames(frames, self._layout.observation_leaves)
        if self.rows_per_lane <= stacking.k:
            raise WoodshedError(
                f"capacity is {self.capacity:,}, of which each of {self.n_envs} environments has "
                f"{self.rows_per_lane - 1:,} transitions; expected {stacking.k:,} or more, the "
                "frames of a stack"
            )
        self._recipe = write_recipe(
            BatchLayout(self._layout, stacking),
            gamma=gamma,
            n_step=n_step,
            hindsight=hindsight,
            priorities=priorities,
            observation_space=observation_space,
            info_space=info_space,
            float_dtype=float_dtype,
        )
        self.gamma = float(gamma)

        self._storage = None if storage is None else folder_path(storage)
        self._allocate(self.rows_per_lane)
        self._on_disk = OnDisk()
        self._largest_priority = 1.0
        self._written = 0
        self.stale_priorities = 0
        self._generator = np.random.default_rng(seed)
        self._sharing = Sharing()
        self._rooms: list[Room] = []

        self._all_lanes = np.arange(self.n_envs)
        self._staging = make_staging(self._layout, self.n_envs)

    def __len__(self) -> int:
        """Number of transitions that can be sampled now."""
        return int(self._store.episodes.lanes[:, _store.SAMPLEABLE].sum())

    def __repr__(self) -> str:
        return (
            f"ReplayBuffer({len(self):,} of {self.capacity:,} transitions, {self.n_envs} lanes, "
            f"{format_bytes(self.nbytes)})"
        )

    def add(
        self,
        *,
        observation: TreeLike,
        action: TreeLike,
        reward: TreeLike,
        terminated: TreeLike,
        truncated: TreeLike,
        next_observation: TreeLike,
        info: Mapping[str, TreeLike] | None = None,
        recurrent_state: TreeLike | None = None,
        mask: TreeLike | None = None,
    ) -> None:
        """Write one step of every environment; every array has a leading axis `[n_envs]`.

        Args:
            observation: `[n_envs, …]` what the action was chosen on. While an episode goes on, this
                is the last `next_observation` of its lane.
            action: `[n_envs, …]`.
            reward: `[n_envs]`.
            terminated: `[n_envs]` bool; where both are true, terminated counts.
            truncated: `[n_envs]` bool.
            next_observation: `[n_envs, …]` what the action led to: at an episode's end its true
                final observation, not the first one of the next episode.
            info: the declared info keys, `[n_envs, …]` each.
            recurrent_state: where it was declared, the state before acting on `observation`.
            mask: `[n_envs]` bool, the environments that took this step; all by default.

        Raises:
            WoodshedError: for a wrong shape or key, a number that is not finite, or an observation
                that does not continue its lane's episode. Nothing is written then.
        """
        step = check_step(
            self._layout,
            self.n_envs,
            observation=observation,
            action=action,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            next_observation=next_observation,
            info=info,
            recurrent_state=recurrent_state,
        )
        lane_of = self._all_lanes
        if mask is not None:
            lane_of = np.where(flags(mask, "mask", self.n_envs), lane_of, -1)
        with self._sharing.writing:
            self._write(self._staging, step, lane_of)

    def extend(self, lane: int, episode: Episode) -> None:
        """Write a whole episode, or a piece that goes on with the open one of its lane.

        The same steps written one by one with `add` leave the same store. A piece whose `ending` is
        `open` can be gone on with, by this or by `add`.

        Args:
            lane: number of the environment.
            episode: T transitions with T + 1 observations.

        Raises:
            WoodshedError: as `add`. Nothing is written then.
        """
        self._check_lane(lane)
        step = check_episode(self._layout, episode)
        count = step.ending.size
        with self._sharing.writing:
            self._write(make_staging(self._layout, count), step, np.full(count, lane))
            if episode.ending == "cut":
                _store.cut(self._store.episodes, self._all_lanes == lane)

    def episodes(self) -> Iterator[Episode]:
        """The stored episodes, lane by lane, oldest first, each a copy of its own.

        Of one that is partly overwritten there is the rest.
        """
        for lane in range(self.n_envs):
            row = 0
            while True:
                with self._sharing.reading:
                    found = read_episode(self._store, self._layout, lane, row)
                if found is None:
                    break
                row, episode = found
                yield episode

    def open_episode(self, lane: int) -> OpenEpisode | None:
        """A copy of the episode that `add` goes on with in a lane; None where it would begin one.

        With all of its rows that are stored, also those that lack the frames to be sampled.

        Args:
            lane: number of the environment.

        Raises:
            WoodshedError: for a lane that there is not.
        """
        self._check_lane(lane)
        with self._sharing.reading:
            return read_open_episode(self._store, self._layout, lane)

    def cut(self, mask: TreeLike | None = None) -> None:
        """End open episodes that were given up: neither terminated nor truncated.

        Args:
            mask: `[n_envs]` bool, the lanes to cut; all by default. Lanes without an open episode
                stay as they are.
        """
        with self._sharing.writing:
            _store.cut(self._store.episodes, self._lanes(mask))

    def sample(self, batch_size: int) -> Batch:
        """Draw a batch: pick, window, relabel, reduce.

        Args:
            batch_size: B, number of windows; drawn independently, so a row can come twice.

        Raises:
            WoodshedError: when nothing can be sampled yet.
        """
        batch_size = whole_number(batch_size, "batch_size")
        most = batch_size * self._recipe.numbers.high
        with self._sharing.reading:
            room = self._take_room(batch_size, most)
            batch = sample_windows(self._store, self._recipe, room, self._beta())
        self._rooms.append(room)
        return batch

    def sample_sequences(self, batch_size: int, length: int, burn_in: int = 0) -> SequenceBatch:
        """Draw sequences of steps, each from one episode, with one goal each.

        Rows are picked as in `sample`; a picked row is the first step to learn from, and goals are
        drawn for it.

        Args:
            batch_size: B, number of sequences.
            length: steps to learn from, the picked one included.
            burn_in: steps before them, to bring a recurrent state up to date with.

        Raises:
            WoodshedError: when nothing can be sampled yet, or for a number out of range.
        """
        batch_size = whole_number(batch_size, "batch_size")
        shape = Shape(whole_number(burn_in, "burn_in", 0), whole_number(length, "length"))
        most = batch_size * seen_steps(self._recipe, shape)
        with self._sharing.reading:
            room = self._take_room(batch_size, most)
            batch = sample_sequences(self._store, self._recipe, room, shape, self._beta())
        self._rooms.append(room)
        return batch

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        earlier: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write everything to a folder: arrays and JSON; see `load`.

        What was saved there before stays whole until all of it is written. Takes no memory to
        speak of.

        Records that lie in files of this buffer's last save, or of the one that it was loaded from,
        are not written again: those files stay, or get another name (a hard link) in a new folder.
        So the second of two saves takes about as long as what was added between them, where the
        two folders are on one disk; each can be deleted without harm to the other. Where the files
        of the last save are not there any more, everything is written.

        Args:
            folder: path of it; made where needed.
            earlier: where the folder of the last save, or of one that shares files with it, lies
                now: to be named where it was renamed since.

        Raises:
            WoodshedError: for a folder of other files, or one that cannot be written to.
        """
        priorities, on_disk = self._recipe.priorities, self._on_disk
        if earlier is not None:
            folders = *on_disk.folders, folder_path(earlier)
            on_disk = replace(on_disk, folders=folders)
        with self._sharing.reading:
            self._on_disk = save(
                folder,
                self._store,
                self._layout,
                self._generator,
                on_disk=on_disk,
                capacity=self.capacity,
                alpha=None if priorities is None else priorities.alpha,
                largest_priority=self._largest_priority,
                written=self._written,
                stale_priorities=self.stale_priorities,
            )

    def load(self, folder: str | os.PathLike[str]) -> None:
        """Fill this new replay with what another one saved; runs no code from the files.

        With the same number of environments and capacity, everything is as it was: the next batch,
        handles, priorities, open episodes, which `add` goes on with. With another capacity handles
        change. With another number of environments all episodes are kept, spread over the lanes;
        open ones count as cut; the lanes grow where episodes would not fit otherwise.

        Args:
            folder: that `save` wrote.

        Raises:
            WoodshedError: when this replay holds something; when a file is missing, damaged or
                foreign, which the message names; for other spaces, another `alpha`, or more
                transitions than the capacity. This replay is still empty then.
        """
        path = folder_path(folder)
        priorities = self._recipe.priorities
        with self._sharing.writing:
            if self._written or (self._store.episodes.lanes[:, _store.NEWEST] >= 0).any():
                raise WoodshedError("a saved replay is loaded into a new one; this one has rows")
            saved = read_saved(path, self._layout)
            about = saved.about
            if priorities and about.alpha is not None and about.alpha != priorities.alpha:
                raise WoodshedError(
                    f"{path} was saved with alpha {about.alpha}, this replay has "
                    f"{priorities.alpha}: make it with the same"
                )
            rows, rows_per_lane = self.rows_per_lane, self.rows_per_lane
            if self.n_envs == len(about.newest) and self.capacity == about.capacity:
                # More, where it was itself loaded into other lanes, which had to grow.
                rows = max(rows, about.rows_per_lane)
            placed = place(saved, self.n_envs, rows, self.capacity)
            if placed.rows > rows_per_lane:
                self._allocate(placed.rows)
            behind = self._recipe.numbers.behind
            try:
                fill(self._store, saved, placed, behind, self._leaf(about.largest_priority))
            except BaseException:
                self._allocate(rows_per_lane)  # empty again
                raise
            if placed.same_rows:  # else rows have other numbers than in the files
                self._on_disk = remember(path, about.segments, about.newest)
            self._largest_priority = about.largest_priority
            self._written = about.written
            self.stale_priorities = about.stale_priorities
            self._generator = saved.generator

    def update_priorities(self, handle: NDArray[np.int64], priority: NDArray[Any]) -> int:
        """Give sampled rows the priorities that their errors call for.

        Args:
            handle: `[B]` of a batch, of whatever age.
            priority: `[B]`, at least 0, such as the absolute error; a row of priority 0 is not
                picked any more. Where a row comes twice, its last one counts.

        Returns:
            How many rows were overwritten since they were sampled: what they were given is dropped,
            and counted in `stale_priorities`.

        Raises:
            WoodshedError: without priorities, or for what is no priority.
        """
        priorities = self._recipe.priorities
        if priorities is None:
            raise WoodshedError("the replay has no priorities: make it with Priorities(...)")
        with self._sharing.writing:
            dropped, largest = update(self._store, priorities.alpha, handle, priority)
            self._largest_priority = max(self._largest_priority, largest)
            self.stale_priorities += dropped
        return dropped

    def blank(self, batch_size: int) -> Batch:
        """A batch of zeros, of the shapes and dtypes that `sample` gives: to compile ahead with."""
        return blank_batch(self._recipe.layout, whole_number(batch_size, "batch_size"))

    def _allocate(self, rows_per_lane: int) -> None:
        prioritised = self._recipe.priorities is not None
        size = self.n_envs, rows_per_lane, self._layout
        self._store = _store.allocate(*size, prioritised=prioritised, folder=self._storage)
        self.rows_per_lane = rows_per_lane
        self.nbytes = sum(_store.expected_bytes(*size, prioritised=prioritised))

    def _take_room(self, batch_size: int, most: int) -> Room:
        """Room for a sample, its stream begun; that of the last one where it has the same size.

        Each of several threads has its own, since a list gives an item to one of them only.
        """
        try:
            room = self._rooms.pop()
        except IndexError:
            room = None
        if room is None or room.plan.shape[1] != batch_size or room.asked.shape[1] < most:
            room = make_room(self._store, self._recipe, batch_size, most)
        room.stream[0] = self._generator.bit_generator.random_raw()
        return room

    def _beta(self) -> float:
        priorities = self._recipe.priorities
        return 0.0 if priorities is None else priorities.beta_after(self._written)

    def _leaf(self, priority: float) -> float:
        priorities = self._recipe.priorities
        return 0.0 if priorities is None else priority**priorities.alpha

    def _check_lane(self, lane: int) -> None:
        if whole_number(lane, "lane", 0) >= self.n_envs:
            raise WoodshedError(f"lane is {lane}, expected 0 to {self.n_envs - 1}")

    def _lanes(self, mask: TreeLike | None) -> NDArray[np.bool_]:
        return np.ones(self.n_envs, np.bool_) if mask is None else flags(mask, "mask", self.n_envs)

    def _write(self, staging: Staging, step: Step, lane_of: NDArray[np.int64]) -> None:
        leaf = self._leaf(self._largest_priority)
        write(self._store, self._layout, staging, step, lane_of, leaf, self._recipe.numbers.behind)
        self._written += int(np.count_nonzero(lane_of >= 0))
