"""Whether sampled batches are what the reference says."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.episodes import stack_trees
from tests.reference.goals import Source, goals, shares
from tests.reference.replay import Array, Place, same, take
from tests.reference.sequences import observed_rows, sequence_mask
from tests.reference.windows import Window, original_window, relabelled_window, with_goal
from tests.replay import worlds
from tests.replay.filling import Filled, desired_goals
from tests.replay.histories import Plan

from woodshed.replay import Batch, SequenceBatch


class Checker:
    """Checks the batches that one filled buffer gives between two writes."""

    def __init__(self, filled: Filled, plan: Plan, source: Source | None) -> None:
        self.filled, self.plan = filled, plan
        self.shares = {"original": 1} if source is None else shares(source, plan.k)
        self.places = filled.reference.by_handle()
        self.n_step = plan.n_step if isinstance(plan.n_step, tuple) else (plan.n_step, plan.n_step)
        self.terminated = worlds.compute_terminated if plan.with_compute_terminated else None
        self._allowed: dict[tuple[str, int], set[bytes]] = {}

    def check_batch(self, batch: Batch, size: int) -> None:
        assert len(batch.handle) == size
        self._check_picks(batch.handle, batch.weight)
        for i in range(size):
            place, goal = self.places[int(batch.handle[i])], None
            if batch.relabelled[i]:
                goal = desired_goals(batch)[i]
            self._check_goal(place, goal)
            windows = self._windows(place, goal, int(batch.steps[i]))
            assert any(_fits(batch, i, window) for window in windows), (
                f"row {i}, {place.lane, place.number}: got {take(batch._asdict(), i)}, "
                f"may be {list(self._windows(place, goal))}"
            )

    def check_sequences(self, batch: SequenceBatch, size: int) -> None:
        length, burn_in, n_high = self.plan.length, self.plan.burn_in, self.n_step[1]
        assert batch.mask.shape == batch.reward.shape == (size, burn_in + length)
        self._check_picks(batch.handle, batch.weight)
        absent = ~batch.mask
        for column in (batch.reward, batch.discount, batch.steps):
            assert not column[absent].any()
        for i in range(size):
            place, goal = self.places[int(batch.handle[i])], None
            if batch.relabelled[i]:
                goal = desired_goals(batch)[i, burn_in]
            self._check_goal(place, goal)
            mask = sequence_mask(place, length, burn_in, goal, self.terminated)
            assert batch.mask[i].tolist() == mask, f"sequence {i}, {place.lane, place.number}"
            # the bootstrap observation of a step is among these, where its steps say
            seen = [place.observation(j) for j in observed_rows(place, length, burn_in, n_high)]
            if goal is not None:
                seen = [with_goal(observation, goal) for observation in seen]
            assert same(take(batch.observation, i), stack_trees(seen))
            first = place.row(place.number - burn_in + mask.index(True))
            assert same(take(batch.recurrent_state, i), first.recurrent_state)
            for t in np.flatnonzero(mask):
                step = place._replace(number=place.number - burn_in + int(t))
                windows = self._windows(step, goal, int(batch.steps[i, t]))
                assert any(_fits_step(batch, (i, int(t)), window) for window in windows), (
                    f"sequence {i}, step {t}, {step.lane, step.number}, goal {goal}: "
                    f"got {batch.reward[i, t], batch.discount[i, t], batch.steps[i, t]}, "
                    f"may be {list(self._windows(step, goal))}"
                )

    def _check_picks(self, handle: NDArray[Any], weight: NDArray[Any]) -> None:
        assert set(handle.tolist()) <= self.places.keys(), "a handle that cannot be sampled"
        expected: Any = np.ones(handle.size)
        if self.filled.priorities is not None:
            assert set(handle.tolist()) <= self.filled.priorities.chances().keys()
            expected = self.filled.priorities.weights(handle.tolist())
        np.testing.assert_allclose(weight, expected, rtol=2e-6)

    def _check_goal(self, place: Place, goal: Array | None) -> None:
        if goal is None:
            assert self.shares["original"] > 1e-6, f"{place.lane, place.number} keeps its goal"
            return
        used = [name for name, share in self.shares.items() if share and name != "original"]
        assert any(goal.tobytes() in self._goals(name, place) for name in used), (
            f"{place.lane, place.number}: {goal} is not a goal of {used}"
        )

    def _goals(self, name: str, place: Place) -> set[bytes]:
        # `random` has the same goals for every row
        key = name, -1 if name == "random" else place.number * self.plan.n_envs + place.lane
        if key not in self._allowed:
            drawn = goals(self.filled.reference, place, name)
            self._allowed[key] = {goal.value.tobytes() for goal in drawn}
        return self._allowed[key]

    def _windows(self, place: Place, goal: Array | None, first: int = 0) -> Iterator[Window]:
        """The windows from a row: one for each n there may be, n = `first` first."""
        gamma, (low, high) = self.plan.gamma, self.n_step
        for n in sorted(range(low, high + 1), key=lambda n: n != first):
            if goal is None:
                yield original_window(place, n, gamma)
            else:
                reward = worlds.compute_reward
                yield relabelled_window(place, n, gamma, goal, reward, self.terminated)


def _fits(batch: Batch, i: int, window: Window) -> bool:
    """Whether row i of a batch is this window."""
    return (
        _fits_step(batch, i, window)
        and same(take(batch.observation, i), window.observation)
        and same(take(batch.next_observation, i), window.next_observation)
    )


def _fits_step(batch: Batch | SequenceBatch, i: int | tuple[int, int], window: Window) -> bool:
    return (
        int(batch.steps[i]) == window.steps
        and abs(float(batch.reward[i]) - window.reward) < 1e-3
        and abs(float(batch.discount[i]) - window.discount) < 1e-6
        and same(batch.action[i], window.action)
    )
