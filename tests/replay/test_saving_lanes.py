"""Saved replays loaded with another capacity or number of lanes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.replay import ReferenceReplay
from tests.replay import worlds
from tests.replay.alike import contents, give_priorities, reloaded, shown
from tests.replay.filling import fill, make_buffer
from tests.replay.histories import Add, Exponents, LanePlan, Plan, plans, play, search
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import FrameStack, Priorities, ReplayBuffer

pytestmark = pytest.mark.usefixtures("small_segments")


def with_lanes(plan: Plan, n_envs: int, capacity: int) -> Plan:
    lanes = tuple(plan.lanes[i % plan.n_envs] for i in range(n_envs))
    return replace(plan, lanes=lanes, capacity=capacity)


def stored_transitions(reference: ReferenceReplay) -> int:
    """With those that have not got all their frames any more."""
    return sum(
        episode.last - reference.kept(lane, episode)[0]
        for lane in range(reference.n_envs)
        for episode in reference.stored(lane)
    )


def move(buffer: ReplayBuffer, here: float, there: float, mask: Any = None) -> None:
    """One step of each lane in the mask, without a reward or an end."""
    n_envs = buffer.n_envs
    no = np.zeros(n_envs, bool)
    buffer.add(
        observation=np.full((n_envs, 1), here),
        action=np.full((n_envs, 1), here),
        reward=np.zeros(n_envs),
        terminated=no,
        truncated=no,
        next_observation=np.full((n_envs, 1), there),
        mask=mask,
    )


def check_other_lanes(plan: Plan, n_envs: int, spare: int, folder: Path) -> None:
    filled = fill(plan, None)
    give_priorities(filled, np.random.default_rng(plan.seed))
    saved = stored_transitions(filled.reference)
    least = 1 if plan.frames is None else plan.frames.k * n_envs
    other = make_buffer(with_lanes(plan, n_envs, max(saved + spare, least)), None)
    reloaded(filled.buffer, other, folder)
    assert len(other) == len(filled.buffer)
    assert contents(other) == contents(filled.buffer, open_is_cut=True)
    if filled.priorities is None or filled.priorities.chances():
        assert shown(other) == shown(filled.buffer)
    for call in play(with_lanes(plan, n_envs, 1)):  # it is a buffer like any other
        if isinstance(call, Add):
            other.add(**call._asdict())
        else:
            other.cut(call.mask)
    if len(other) and plan.priorities is None:
        other.sample_sequences(20, plan.length, plan.burn_in)
        other.sample(20)
    list(other.episodes())


@pytest.mark.parametrize("prioritised", [False, True])
def test_whatever_the_episodes_they_fit_in_any_number_of_lanes(
    prioritised: bool, tmp_path: Path
) -> None:
    @hypothesis.seed(int(prioritised))
    @search(40)
    @given(
        plans((*worlds.GOAL_KINDS, "flat"), False), st.integers(1, 7), st.sampled_from([0, 1, 9])
    )
    def check(plan: Plan, n_envs: int, spare: int) -> None:
        # windows of one length and weights that are 1 over the priority can be compared
        plan = replace(plan, n_step=2)
        if prioritised:
            plan = replace(plan, priorities=Exponents(1.0, 1.0, 1.0, 1))
        if n_envs != plan.n_envs:
            check_other_lanes(plan, n_envs, spare, tmp_path / "saved")

    check()


def make(capacity: int, n_envs: int = 1, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, n_envs=n_envs, gamma=0.5, **options)


def exact() -> Priorities:
    return Priorities(alpha=1.0, beta=1.0, beta_end=1.0)


def by_position(buffer: ReplayBuffer) -> dict[float, float]:
    """The weight of the row of each position."""
    batch = buffer.sample(600)
    positions = np.asarray(batch.observation)[..., -1].reshape(len(batch.handle), -1)[:, -1]
    return dict(zip(positions.tolist(), batch.weight.tolist(), strict=True))


@pytest.mark.parametrize("n_envs", [2, 3, 9])
def test_one_lane_into_several_by_hand(n_envs: int, tmp_path: Path) -> None:
    first = make(20, priorities=exact())
    write_episode(first, [1, 2, 3], [1.0, 2.0], "terminated")  # rows 0 1 2
    write_episode(first, [10, 11], [4.0], "truncated")  # rows 3 4
    write_episode(first, [20, 21], [8.0], "open")  # rows 5 6
    first.update_priorities(np.array([0, 1, 3, 5]), np.array([8.0, 4.0, 2.0, 1.0]))
    other = reloaded(first, make(20, n_envs, priorities=exact()), tmp_path / "saved")
    assert rows(other) == {
        (1, 1): (1.0, 0.5, 2),
        (2, 1): (2.0, 0.0, 3),
        (10, 1): (4.0, 0.5, 11),
        (20, 1): (8.0, 0.5, 21),
    }
    assert by_position(other) == {1: 0.125, 2: 0.25, 10: 0.5, 20: 1.0}
    endings = sorted(episode.ending for episode in other.episodes())
    assert endings == ["cut", "terminated", "truncated"]
    move(other, 30, 30)
    assert by_position(other)[30] == pytest.approx(0.125)  # the largest priority is 8


@pytest.mark.parametrize("n_envs", [1, 2, 5])
def test_more_transitions_than_the_capacity_are_refused_with_both_numbers(
    n_envs: int, tmp_path: Path
) -> None:
    first = make(40, n_envs=3)
    for lane in range(3):
        mask = np.arange(3) == lane
        for t in range(13):
            move(first, t, t + 1, mask)
    first.save(tmp_path / "saved")
    small = make(38, n_envs=n_envs)
    with pytest.raises(WoodshedError, match=r"(?=.*\b39\b)(?=.*\b38\b)") as error:
        small.load(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert len(small) == 0
    exactly = make(39, n_envs=n_envs)
    exactly.load(tmp_path / "saved")
    assert len(exactly) == 39


def test_a_smaller_capacity_holds_what_fits_and_refuses_the_rest(tmp_path: Path) -> None:
    first = make(50)
    write_episode(first, range(8), [1.0] * 7, "open")  # eight rows
    first.save(tmp_path / "saved")
    enough, less = make(7), make(6)
    enough.load(tmp_path / "saved")
    assert rows(enough) == rows(first)
    with pytest.raises(WoodshedError, match=r"\b6\b") as error:
        less.load(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert len(less) == 0
    write_episode(less, [5, 6], [1.0], "open")
    assert rows(less) == {(5, 1): (1.0, 0.5, 6)}
    write_episode(enough, [7, 8], [1.0], "open")  # goes on with its episode
    assert len(enough) == 7
    (episode,) = enough.episodes()
    assert np.asarray(episode.observation)[:, 0].tolist() == list(range(1, 9))


@pytest.mark.parametrize("n_envs", [1, 2])
@pytest.mark.parametrize("padding", ["repeat", "zero"])
def test_rows_without_their_frames_stay_unsampleable(
    n_envs: int, padding: Any, tmp_path: Path
) -> None:
    frames = FrameStack(3, padding)
    first = make(7, frames=frames)  # eight rows
    write_episode(first, range(10, 17), [0.0] * 6, "truncated")  # rows 0..6
    write_episode(first, [20, 21], [0.0], "truncated")  # rows 7 8
    assert sorted(by_position(first)) == [13, 14, 15, 20]
    other = reloaded(first, make(30, n_envs, frames=frames), tmp_path / "saved")
    assert sorted(by_position(other)) == [13, 14, 15, 20]
    assert len(other) == 4
    assert shown(other) == shown(first)  # row 3 still has the frames 11 and 12
    again = make(30, 3 - n_envs, frames=frames)
    reloaded(other, again, tmp_path / "again")
    assert shown(again) == shown(first)


def test_lanes_of_very_unlike_fill_go_into_one(tmp_path: Path) -> None:
    plan = Plan(
        kind="flat",
        lanes=(LanePlan(((30, "cut"),), (True,)), LanePlan(((1, "terminated"),), (True,))),
        vector_steps=28,
        cut_all_after=None,
        goal_moves=False,
        with_info=True,
        capacity=56,
        n_step=1,
        gamma=0.5,
        k=0.0,
        with_compute_terminated=False,
        sample_every=1,
        batch_sizes=(1,),
        seed=3,
    )
    filled = fill(plan, None)
    for n_envs in (1, 3, 8):
        other = make_buffer(with_lanes(plan, n_envs, len(filled.buffer)), None)
        reloaded(filled.buffer, other, tmp_path / "saved")
        assert contents(other) == contents(filled.buffer, open_is_cut=True)
        assert shown(other) == shown(filled.buffer)
