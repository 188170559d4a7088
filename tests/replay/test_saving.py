"""Saved and loaded with the same lanes: the buffer goes on as if nothing had happened."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from tests.reference.frames import Frames
from tests.replay import worlds
from tests.replay.alike import (
    assert_alike,
    give_priorities,
    reloaded,
    same_episodes,
    shown,
)
from tests.replay.drawing import HISTORY, handles
from tests.replay.filling import fill, make, make_buffer, write
from tests.replay.histories import Add, Cut, Exponents, Plan, plans, play, search
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import Priorities, ReplayBuffer

pytestmark = pytest.mark.usefixtures("small_segments")

MIXTURE = {"original": 0.4, "future": 0.3, "episode": 0.2, "random": 0.1}


def write_both(call: Add | Cut, *buffers: ReplayBuffer) -> None:
    for buffer in buffers:
        if isinstance(call, Add):
            buffer.add(**call._asdict())
        else:
            buffer.cut(call.mask)


def check_goes_on(plan: Plan, folder: Path) -> None:
    """Half of a history, saved and loaded, then the other half into both."""
    source = MIXTURE if plan.kind in worlds.GOAL_KINDS else None
    generator = np.random.default_rng(plan.seed)
    filled, calls = make(plan, source), list(play(plan))
    half = len(calls) // 2
    for call in calls[:half]:
        write(call, filled)
    give_priorities(filled, generator)
    other = make_buffer(replace(plan, seed=plan.seed ^ 1), source)
    reloaded(filled.buffer, other, folder)
    drawable = filled.priorities is None or filled.priorities.chances()
    if not drawable:
        return
    assert_alike(filled.buffer, other, plan)
    for call in calls[half:]:
        write_both(call, filled.buffer, other)
    assert_alike(filled.buffer, other, plan)


@pytest.mark.parametrize("prioritised", [False, True])
def test_the_same_batches_after_loading_and_after_further_writes(
    prioritised: bool, tmp_path: Path
) -> None:
    @hypothesis.seed(int(prioritised))
    @search(40)
    @given(plans((*worlds.GOAL_KINDS, "flat", "discrete"), True, prioritised))
    def check(plan: Plan) -> None:
        check_goes_on(plan, tmp_path / "saved")

    check()


def line_buffer(capacity: int = 20, n_envs: int = 1, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, n_envs=n_envs, gamma=0.5, **options)


def exact() -> Priorities:
    """Weights are 1 over the priority."""
    return Priorities(alpha=1.0, beta=1.0, beta_end=1.0)


def weights(buffer: ReplayBuffer) -> dict[int, float]:
    batch = buffer.sample(500)
    return dict(zip(handles(batch), batch.weight.tolist(), strict=True))


def test_by_hand(tmp_path: Path) -> None:
    first, second = line_buffer(4, priorities=exact()), line_buffer(4, priorities=exact(), seed=7)
    write_episode(first, [1, 2, 3], [1.0, 2.0], "terminated")  # rows 0 1 2
    write_episode(first, [10, 11, 12], [4.0, 8.0], "open")  # rows 3 4 5: row 0 is gone
    first.update_priorities(np.array([1, 3, 4]), np.array([8.0, 4.0, 2.0]))
    reloaded(first, second, tmp_path / "saved")
    assert weights(second) == {1: 0.25, 3: 0.5, 4: 1.0}
    write_episode(second, [12, 13], [16.0], "truncated")  # row 6: row 1 is gone
    assert weights(second) == {3: 0.5, 4: 1.0, 5: 0.25}  # a new row gets the largest, 8
    assert rows(second) == {
        (10, 1): (4.0, 0.5, 11),
        (11, 1): (8.0, 0.5, 12),
        (12, 1): (16.0, 0.5, 13),
    }
    assert second.update_priorities(np.array([1]), np.array([1.0])) == 1


def test_beta_goes_on_from_the_transitions_written(tmp_path: Path) -> None:
    made = [
        line_buffer(9, priorities=Priorities(alpha=1.0, beta=0.0, beta_end=1.0, beta_steps=8))
        for _ in range(2)
    ]
    write_episode(made[0], [0, 1, 2], [0.0] * 2, "truncated")
    made[0].update_priorities(np.array([0, 1]), np.array([16.0, 1.0]))
    reloaded(made[0], made[1], tmp_path / "saved")
    assert weights(made[1]) == pytest.approx({0: 0.5, 1: 1.0})  # 2 of 8: 16^-1/4
    write_episode(made[1], [0, 1, 2], [0.0] * 2, "truncated")
    assert weights(made[1]) == pytest.approx({0: 0.25, 1: 1.0, 3: 0.25, 4: 0.25})


def test_saved_without_priorities_all_rows_get_the_largest(tmp_path: Path) -> None:
    first, second = line_buffer(), line_buffer(priorities=exact())
    write_episode(first, [1, 2, 3], [1.0, 2.0], "open")
    reloaded(first, second, tmp_path / "saved")
    assert weights(second) == {0: 1.0, 1: 1.0}
    second.update_priorities(np.array([0]), np.array([0.5]))
    write_episode(second, [3, 4], [1.0], "open")
    assert weights(second) == {0: 1.0, 1: 0.5, 2: 0.5}  # the new one: 1


def test_an_empty_buffer_can_be_saved(tmp_path: Path) -> None:
    first, second = line_buffer(seed=1), line_buffer(seed=2)
    reloaded(first, second, tmp_path / "saved")
    assert len(second) == 0
    for buffer in (first, second):
        write_episode(buffer, range(9), [1.0] * 8, "open")
    assert handles(first.sample(50)) == handles(second.sample(50))


def test_saving_changes_nothing(tmp_path: Path) -> None:
    plan = replace(HISTORY, priorities=Exponents(0.6, 0.4, 1.0, 200), n_step=(1, 3))
    first, second = fill(plan, MIXTURE).buffer, fill(plan, MIXTURE).buffer
    first.save(tmp_path / "saved")
    assert_alike(first, second, plan)


@pytest.mark.parametrize("before", [[], [1, 2]])
def test_an_existing_save_is_replaced(before: list[float], tmp_path: Path) -> None:
    older, newer = line_buffer(), line_buffer()
    write_episode(older, [50, 51, 52], [1.0, 2.0], "open")
    if before:
        write_episode(newer, before, [1.0], "open")
    older.save(tmp_path / "saved")
    newer.save(tmp_path / "saved")
    second = line_buffer()
    second.load(tmp_path / "saved")
    assert same_episodes(second.episodes(), newer.episodes())
    assert os.listdir(tmp_path) == ["saved"]


def test_loading_into_what_is_not_empty_is_refused(tmp_path: Path) -> None:
    first, second = line_buffer(), line_buffer()
    write_episode(first, [1, 2], [1.0], "open")
    write_episode(second, [5, 6], [1.0], "cut")
    first.save(tmp_path / "saved")
    with pytest.raises(WoodshedError) as error:
        second.load(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert rows(second) == {(5, 1): (1.0, 0.5, 6)}


@pytest.mark.parametrize("frames", [None, Frames(3)])
@pytest.mark.parametrize("capacity", [44, 48, 100, 1000])
def test_another_capacity_keeps_everything(
    capacity: int, frames: Frames | None, tmp_path: Path
) -> None:
    plan = replace(HISTORY, frames=frames, with_info=True, with_state=True)
    for priorities in (None, Exponents(1.0, 1.0, 1.0, 1)):
        plan = replace(plan, priorities=priorities, k=0.0)
        filled = fill(plan, None)
        give_priorities(filled, np.random.default_rng(3))
        other = make_buffer(replace(plan, capacity=capacity), None)
        reloaded(filled.buffer, other, tmp_path / "saved")
        assert len(other) == len(filled.buffer)
        assert same_episodes(other.episodes(), filled.buffer.episodes())
        assert shown(other) == shown(filled.buffer)
        longer = list(play(replace(plan, vector_steps=plan.vector_steps + 20)))
        for call in longer[len(list(play(plan))) :]:  # open episodes go on
            write_both(call, filled.buffer, other)
        assert shown(filled.buffer).keys() <= shown(other).keys() or priorities is not None
