"""Stacks of frames with literal numbers: which frames, and which rows have all of theirs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.reference.frames import Frames
from tests.replay.drawing import (
    HISTORY,
    assert_drawn_from,
    drawn_goals,
    expected_goals,
    handles,
    uniform,
)
from tests.replay.filling import desired_goals, fill, scribble
from tests.replay.line import (
    GOAL_POSITION,
    POSITION,
    at_goal,
    minus_one_away,
    write_episode,
)

from woodshed.replay import FrameStack, Hindsight, ReplayBuffer


def make(k: int, padding: Any = "repeat", capacity: int = 100, **options: Any) -> ReplayBuffer:
    frames = FrameStack(k, padding)
    return ReplayBuffer(POSITION, POSITION, capacity, gamma=0.5, frames=frames, **options)


def stacks(buffer: ReplayBuffer, draws: int = 400) -> dict[int, tuple[list[float], list[float]]]:
    """The frames of the observation and of the next one, by the handle of each row drawn."""
    batch = buffer.sample(draws)
    here, there = np.asarray(batch.observation), np.asarray(batch.next_observation)
    assert here.shape == there.shape
    assert here.shape[2:] == (1,)
    seen: dict[int, tuple[list[float], list[float]]] = {}
    for handle, one, other in zip(handles(batch), here, there, strict=True):
        row = (one[:, 0].tolist(), other[:, 0].tolist())
        assert seen.setdefault(handle, row) == row
    return seen


@pytest.mark.parametrize(("padding", "before"), [("repeat", 5), ("zero", 0)])
def test_three_frames(padding: str, before: int) -> None:
    buffer = make(3, padding)
    write_episode(buffer, [5, 6, 7, 8, 9], [0.0] * 4, "truncated")
    assert stacks(buffer) == {
        0: ([before, before, 5], [before, 5, 6]),
        1: ([before, 5, 6], [5, 6, 7]),
        2: ([5, 6, 7], [6, 7, 8]),
        3: ([6, 7, 8], [7, 8, 9]),
    }


@pytest.mark.parametrize("ending", ["terminated", "truncated", "cut"])
@pytest.mark.parametrize(("padding", "before"), [("repeat", 20), ("zero", 0)])
def test_frames_never_come_from_the_episode_before(ending: Any, padding: str, before: int) -> None:
    buffer = make(4, padding)
    write_episode(buffer, [10, 11, 12], [0.0] * 2, ending)  # rows 0 1 2
    write_episode(buffer, [20, 21, 22], [0.0] * 2, "open")  # rows 3 4 5
    first = 10 if padding == "repeat" else 0
    assert stacks(buffer) == {
        0: ([first, first, first, 10], [first, first, 10, 11]),
        1: ([first, first, 10, 11], [first, 10, 11, 12]),
        3: ([before, before, before, 20], [before, before, 20, 21]),
        4: ([before, before, 20, 21], [before, 20, 21, 22]),
    }


def test_a_stack_of_one_is_the_observation_with_an_axis() -> None:
    buffer = make(1, capacity=3)
    write_episode(buffer, range(5, 12), [0.0] * 6, "truncated")
    assert len(buffer) == 3
    assert stacks(buffer) == {3: ([8], [9]), 4: ([9], [10]), 5: ([10], [11])}


def test_the_next_stack_ends_at_the_observation_after_the_window() -> None:
    buffer = make(3, "zero", n_step=3)
    write_episode(buffer, [5, 6, 7, 8, 9], [1.0, 2.0, 4.0, 8.0], "truncated")
    batch = buffer.sample(300)
    assert stacks(buffer) == {
        0: ([0, 0, 5], [6, 7, 8]),
        1: ([0, 5, 6], [7, 8, 9]),
        2: ([5, 6, 7], [7, 8, 9]),
        3: ([6, 7, 8], [7, 8, 9]),
    }
    rewards = dict(zip(handles(batch), batch.reward.tolist(), strict=True))
    assert rewards == {0: 3.0, 1: 6.0, 2: 8.0, 3: 8.0}


@pytest.mark.parametrize(("padding", "before"), [("repeat", 20), ("zero", 0)])
def test_stacks_over_the_ends_of_the_ring(padding: str, before: int) -> None:
    """Six rows, in places 0 to 5: the second episode starts in the middle and wraps."""
    buffer = make(3, padding, capacity=5)
    write_episode(buffer, [10, 11, 12, 13], [0.0] * 3, "truncated")  # rows 0..3
    write_episode(buffer, [20, 21, 22, 23], [0.0] * 3, "open")  # rows 4..7; 2 and 3 are left
    assert len(buffer) == 3  # row 2 has no frame 0 any more
    assert stacks(buffer) == {
        4: ([before, before, 20], [before, 20, 21]),
        5: ([before, 20, 21], [20, 21, 22]),
        6: ([20, 21, 22], [21, 22, 23]),
    }


def test_which_rows_of_a_partly_overwritten_episode_are_left() -> None:
    """Row by row; k-1 transitions go as soon as the start of their episode does."""
    buffer = make(3, "zero", capacity=7)  # eight rows
    write_episode(buffer, range(10, 17), [0.0] * 6, "truncated")  # rows 0..6
    assert len(buffer) == 6
    left = []
    for step in range(8):
        positions = [30 + step, 31 + step]
        write_episode(buffer, positions, [0.0], "open")  # the first writes rows 7 and 8
        left.append([handle for handle in sorted(stacks(buffer)) if handle < 6])
        assert len(buffer) == len(stacks(buffer))
    assert left == [[3, 4, 5], [4, 5], [5], [], [], [], [], []]
    assert stacks(buffer) == {
        number: ([21 + number, 22 + number, 23 + number], [22 + number, 23 + number, 24 + number])
        for number in range(10, 15)  # row 7 is gone, so 8 and 9 have lost a frame
    }


def test_an_endless_episode_keeps_the_capacity_less_the_frames_of_its_first_row() -> None:
    buffer = make(4, capacity=10)
    write_episode(buffer, range(100), [0.0] * 99, "open")
    assert len(buffer) == 10 - 3
    assert sorted(stacks(buffer)) == list(range(92, 99))
    assert stacks(buffer)[92] == ([89, 90, 91, 92], [90, 91, 92, 93])


def test_the_smallest_ring_for_a_stack_keeps_one_row_of_a_long_episode() -> None:
    buffer = make(3, capacity=3)
    write_episode(buffer, range(50), [0.0] * 49, "open")
    assert len(buffer) == 1
    assert stacks(buffer, 20) == {48: ([46, 47, 48], [47, 48, 49])}


def test_nothing_is_sampleable_while_no_row_has_all_its_frames() -> None:
    buffer = make(3, "zero", capacity=3)  # four rows
    write_episode(buffer, [1, 2, 3], [0.0] * 2, "truncated")  # rows 0 1 2
    write_episode(buffer, [10, 11, 12, 13], [0.0] * 3, "truncated")  # rows 3..6
    assert sorted(stacks(buffer)) == [3, 4, 5]
    write_episode(buffer, [20, 21], [0.0], "truncated")  # rows 7 8; 5 and 6 are left of the second
    assert sorted(stacks(buffer)) == [7]
    (episode,) = buffer.episodes()
    assert np.asarray(episode.observation).tolist() == [[20], [21]]


def test_episodes_leave_out_rows_without_all_their_frames() -> None:
    buffer = make(3, capacity=7)  # eight rows
    write_episode(buffer, range(10, 17), [float(t) for t in range(6)], "terminated")  # rows 0..6
    write_episode(buffer, [20, 21], [9.0], "open")  # rows 7 8: row 0 is gone
    first, second = buffer.episodes()
    assert np.asarray(first.observation).tolist() == [[13], [14], [15], [16]]
    assert np.asarray(first.reward).tolist() == [3, 4, 5]
    assert np.asarray(second.observation).tolist() == [[20], [21]]


def test_sequences_by_hand() -> None:
    buffer = make(3, "zero", n_step=2, capacity=5)  # six rows
    write_episode(buffer, range(10, 18), [1.0] * 7, "open")  # 12..17 are left, rows 4..6 whole
    batch = buffer.sample_sequences(200, length=2, burn_in=1)
    seen = {}
    observation = np.asarray(batch.observation)
    assert observation.shape == (200, 5, 3, 1)
    for i, handle in enumerate(handles(batch)):
        seen[handle] = (batch.mask[i].tolist(), observation[i, :, :, 0].tolist())
    assert seen.keys() == {4, 5, 6}
    assert seen[4][0] == [False, True, True]  # row 3 is stored, but not all of its frames
    assert seen[4][1][1:] == [[12, 13, 14], [13, 14, 15], [14, 15, 16], [15, 16, 17]]
    assert seen[5] == (
        [True, True, True],
        [[12, 13, 14], [13, 14, 15], [14, 15, 16], [15, 16, 17], [15, 16, 17]],
    )
    assert seen[6][0] == [True, True, False]


def test_frames_of_a_sequence_from_an_episodes_start() -> None:
    buffer = make(2, "zero")
    write_episode(buffer, [7, 8], [0.0], "terminated")
    write_episode(buffer, [10, 11, 12], [0.0] * 2, "terminated")
    batch = buffer.sample_sequences(100, length=2)
    first = handles(batch).index(2)
    assert np.asarray(batch.observation)[first, :, :, 0].tolist() == [[0, 10], [10, 11], [11, 12]]


def goals_buffer(source: Any, capacity: int = 100, **options: Any) -> ReplayBuffer:
    hindsight = Hindsight(source, compute_reward=minus_one_away, compute_terminated=at_goal)
    return ReplayBuffer(
        GOAL_POSITION, POSITION, capacity, gamma=0.5, hindsight=hindsight, **options
    )


def test_goals_are_those_of_the_newest_frame() -> None:
    buffer = goals_buffer({"final": 1.0}, frames=FrameStack(3), n_step=2)
    write_episode(buffer, [10, 11, 12, 13], [0.0] * 3, "truncated", goal=50)
    batch = buffer.sample(200)
    observation: Any = batch.observation
    following: Any = batch.next_observation
    assert observation["observation"].shape == (200, 3, 1)
    assert observation["achieved_goal"].shape == observation["desired_goal"].shape == (200, 1)
    for i, handle in enumerate(handles(batch)):
        assert observation["achieved_goal"][i] == 10 + handle
        assert following["achieved_goal"][i] == min(12 + handle, 13)
        assert observation["desired_goal"][i] == following["desired_goal"][i] == 13
        assert batch.reward[i] == {0: -1.5, 1: -1.0, 2: 0.0}[handle]
        assert observation["observation"][i, -1, 0] == 10 + handle


def test_sources_of_goals_in_a_partly_overwritten_episode() -> None:
    """`episode` gives every row stored; `random` only those after a row that can be sampled."""
    options: dict[str, Any] = {"capacity": 7, "frames": FrameStack(3)}
    for source, goals in (
        ("episode", {12, 13, 14, 15, 16, 21}),  # row 1 (11) is the first one left
        ("random", {14, 15, 16, 21}),
    ):
        buffer = goals_buffer({source: 1.0}, **options)
        write_episode(buffer, range(10, 17), [0.0] * 6, "truncated", goal=50)  # rows 0..6
        write_episode(buffer, [20, 21], [0.0], "open", goal=50)  # rows 7 8
        batch = buffer.sample(600)
        assert set(handles(batch)) == {3, 4, 5, 7}
        assert set(desired_goals(batch)[:, 0].tolist()) == goals


STACKED = replace(HISTORY, frames=Frames(3))


@pytest.mark.parametrize("strategy", ["future", "episode", "random"])
def test_rows_and_goals_are_as_likely_as_the_reference_says(strategy: Any) -> None:
    buffer, reference, _ = fill(STACKED, strategy)
    assert len(buffer) == len(reference) < len(fill(HISTORY, strategy).buffer)
    batch = buffer.sample(100_000)
    assert_drawn_from(uniform(list(reference.by_handle())), handles(batch))
    assert_drawn_from(expected_goals(reference, strategy), drawn_goals(batch))


def test_writing_into_a_batch_changes_nothing() -> None:
    buffer = make(3)
    write_episode(buffer, [5, 6, 7, 8], [0.0] * 3, "truncated")
    before = stacks(buffer)
    scribble(buffer.sample(50))
    scribble(buffer.sample_sequences(50, length=2, burn_in=2))
    assert stacks(buffer) == before
