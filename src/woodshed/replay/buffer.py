"""The replay buffer: episodes in, batches out."""

import threading
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError
from woodshed.replay import store as _store
from woodshed.replay.batch import Batch
from woodshed.replay.collect import blank_batch
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.memory import check_fits, format_bytes
from woodshed.replay.recipe import whole_number, write_recipe
from woodshed.replay.records import Field, layout_record, view_field
from woodshed.replay.sampling import sample
from woodshed.replay.tree import Leaf, TreeLike, flatten, leaves_of_space


class ReplayBuffer:
    """Keeps the newest episodes of several environments; makes training batches from them.

    Each environment writes a *lane*: a ring of `rows_per_lane = ceil(capacity / n_envs) + 1` rows.
    An episode of T transitions takes T + 1 rows, since its final observation is kept. Every stored
    row is sampleable but the last one of each episode: so a full lane holds `rows_per_lane` minus
    the number of episode ends in it, which is the capacity for one long episode, and
    `rows_per_lane * T / (T + 1)` on average for episodes of T steps.

    One thread may write while others sample; a lock makes each call whole.
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
        info_space: Mapping[str, gymnasium.Space[Any]] | None = None,
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
            info_space: spaces of the info keys to store; `compute_reward` gets them.
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

        if np.dtype(float_dtype) not in (np.float32, np.float64):
            raise WoodshedError(f"float_dtype is {float_dtype}, expected float32 or float64")
        observation_leaves = leaves_of_space(observation_space, "observation", float_dtype)
        if isinstance(action_space, gymnasium.spaces.Dict):
            raise WoodshedError("a Dict action space is not supported: flatten it in a wrapper")
        (action_leaf,) = leaves_of_space(action_space, "action", float_dtype)
        info_leaves = [
            leaf._replace(path=("info", key))
            for key, space in info_space.items()
            for leaf in leaves_of_space(space, f"info {key}", float_dtype)
        ]
        self._layout = layout_record(observation_leaves, action_leaf, info_leaves)

        self._recipe = write_recipe(
            self._layout,
            gamma=gamma,
            n_step=n_step,
            hindsight=hindsight,
            observation_space=observation_space,
            info_space=info_space,
            float_dtype=float_dtype,
        )
        self.gamma = self._recipe.gamma

        self.nbytes = _store.expected_bytes(self.n_envs, self.rows_per_lane, self._layout)
        check_fits(self.nbytes, f"a replay of {self.capacity:,} transitions")
        self._store = _store.allocate(self.n_envs, self.rows_per_lane, self._layout)
        self._generator = np.random.default_rng(seed)
        self._lock = threading.Lock()

        self._record = np.zeros((self.n_envs, self._layout.words), np.uint32)
        self._next = np.zeros((self.n_envs, self._layout.observation_words), np.uint32)
        self._record_fields = [view_field(self._record, f) for f in self._layout.fields]
        self._next_fields = [view_field(self._next, f) for f in self._layout.observation]

    def __len__(self) -> int:
        """Number of transitions that can be sampled now."""
        return int(self._store.episodes.sampleable.sum())

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
            mask: `[n_envs]` bool, the environments that took this step; all by default.

        Raises:
            WoodshedError: for a wrong shape or key, a number that is not finite, or an observation
                that does not continue its lane's episode. Nothing is written then.
        """
        layout, lanes = self._layout, self.n_envs
        info = info or {}
        if info.keys() != (declared := {f.leaf.path[-1] for f in layout.info}):
            raise WoodshedError(
                f"info has the keys {sorted(info)}, expected {sorted(declared)} as declared in "
                "info_space"
            )
        now = flatten(observation, [f.leaf for f in layout.observation], lanes)
        then = flatten(
            next_observation,
            [
                f.leaf._replace(path=("next_observation", *f.leaf.path[1:]))
                for f in layout.observation
            ],
            lanes,
        )
        step = [
            *flatten(action, [layout.action.leaf], lanes),
            *flatten(reward, [layout.reward.leaf], lanes),
            *(a for f in layout.info for a in flatten(info[f.leaf.path[-1]], [f.leaf], lanes)),
        ]
        flags = [
            flatten(value, [_flag(name)], lanes)[0].astype(np.bool_)
            for name, value in (("terminated", terminated), ("truncated", truncated))
        ]
        ending = flags[0] * np.uint8(_store.TERMINATED) | flags[1] * np.uint8(_store.TRUNCATED)
        with self._lock:
            for target, source in zip(self._record_fields, [*now, *step], strict=True):
                target[...] = source
            for target, source in zip(self._next_fields, then, strict=True):
                target[...] = source
            problem, lane, word = _store.append(
                self._store.words,
                self._store.episodes,
                self._record,
                self._next,
                ending,
                self._lanes(mask),
                layout.exponent_mask,
            )
        if problem != _store.OK:
            raise WoodshedError(self._complaint(problem, lane, layout.field_at(word)))

    def cut(self, mask: TreeLike | None = None) -> None:
        """End open episodes that were given up: neither terminated nor truncated.

        Args:
            mask: `[n_envs]` bool, the lanes to cut; all by default. Lanes without an open episode
                stay as they are.
        """
        with self._lock:
            _store.cut(self._store.episodes, self._lanes(mask))

    def sample(self, batch_size: int) -> Batch:
        """Draw a batch: pick, window, relabel, reduce.

        Args:
            batch_size: B, number of windows; drawn independently, so a row can come twice.

        Raises:
            WoodshedError: when nothing can be sampled yet.
        """
        batch_size = whole_number(batch_size, "batch_size")
        with self._lock:
            return sample(self._store, self._recipe, self._generator, batch_size)

    def blank(self, batch_size: int) -> Batch:
        """A batch of zeros, of the shapes and dtypes that `sample` gives: to compile ahead with."""
        return blank_batch(self._recipe, whole_number(batch_size, "batch_size"))

    def _lanes(self, mask: TreeLike | None) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.n_envs, np.bool_)
        return flatten(mask, [_flag("mask")], self.n_envs)[0].astype(np.bool_)

    def _complaint(self, problem: int, lane: int, field: Field) -> str:
        name = field.leaf.name
        if problem == _store.NOT_CONTINUING:
            return (
                f"{name} of environment {lane} is not the next_observation of its last step; if "
                "the environment was reset, mark that step as truncated or call cut() first"
            )
        where = f"next_{name}" if problem == _store.NEXT_NOT_FINITE else name
        source = self._next_fields if problem == _store.NEXT_NOT_FINITE else self._record_fields
        value = source[self._layout.fields.index(field)][lane]
        found = value[~np.isfinite(value)][0]
        return (
            f"{where} of environment {lane} holds {found}; expected finite numbers: nothing of "
            "this step was stored"
        )


def _flag(name: str) -> Leaf:
    return Leaf((name,), (), np.dtype(np.bool_))
