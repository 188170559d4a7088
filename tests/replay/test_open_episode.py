"""The episode that a lane goes on with."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.reference.replay import same
from tests.replay.filling import scribble
from tests.replay.line import POSITION, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import Episode, FrameStack, ReplayBuffer


def make(capacity: int = 100, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, gamma=0.5, **options)


def summary(buffer: ReplayBuffer, lane: int = 0) -> tuple[int, list[float], list[float]]:
    """Its first step, and the positions and rewards from there on."""
    found = buffer.open_episode(lane)
    assert found is not None
    assert found.episode.ending == "open"
    positions = np.asarray(found.episode.observation)[:, 0].tolist()
    return found.first_step, positions, np.asarray(found.episode.reward).tolist()


def test_none_is_open_in_a_new_buffer() -> None:
    buffer = make(n_envs=3)
    assert [buffer.open_episode(lane) for lane in range(3)] == [None] * 3


@pytest.mark.parametrize("ending", ["terminated", "truncated", "cut"])
def test_none_is_open_after_an_end(ending: Any) -> None:
    buffer = make()
    write_episode(buffer, [1, 2, 3], [1.0, 2.0], ending)
    assert buffer.open_episode(0) is None
    write_episode(buffer, [5, 6], [3.0], "open")
    assert summary(buffer) == (0, [5, 6], [3])


def test_of_one_step_and_of_more() -> None:
    buffer = make()
    write_episode(buffer, [1, 2], [1.0], "open")
    assert summary(buffer) == (0, [1, 2], [1])
    write_episode(buffer, [2, 3, 4], [2.0, 3.0], "open")
    assert summary(buffer) == (0, [1, 2, 3, 4], [1, 2, 3])


def test_across_the_seam_of_the_ring() -> None:
    buffer = make(5)  # six rows
    write_episode(buffer, [1, 2, 3, 4], [0.0] * 3, "truncated")
    write_episode(buffer, [5, 6, 7, 8, 9], [1.0, 2.0, 3.0, 4.0], "open")
    assert summary(buffer) == (0, [5, 6, 7, 8, 9], [1, 2, 3, 4])


@pytest.mark.parametrize("steps", [5, 6, 7, 11, 12, 40])
def test_with_its_start_overwritten(steps: int) -> None:
    buffer = make(5)  # six rows
    write_episode(buffer, [90, 91], [0.0], "truncated")
    write_episode(buffer, range(steps + 1), list(range(steps)), "open")
    kept = list(range(steps - 5, steps + 1))
    assert summary(buffer) == (steps - 5, kept, kept[:-1])


def test_in_the_smallest_ring() -> None:
    buffer = make(1)
    write_episode(buffer, [1, 2, 3, 4], [1.0, 2.0, 3.0], "open")
    assert summary(buffer) == (2, [3, 4], [3])


def test_rows_without_their_frames_belong_to_it() -> None:
    buffer = make(5, frames=FrameStack(3))
    write_episode(buffer, range(10), [1.0] * 9, "open")
    assert len(buffer) == 3
    assert summary(buffer) == (4, [4, 5, 6, 7, 8, 9], [1.0] * 5)


def test_each_lane_has_its_own() -> None:
    buffer = make(n_envs=3)
    for lane in (0, 2):
        positions = np.arange(lane, lane + 3, dtype=np.float32)[:, None]
        buffer.extend(lane, Episode(positions, positions[1:], positions[1:, 0], "open"))
    assert summary(buffer, 0) == (0, [0, 1, 2], [1, 2])
    assert buffer.open_episode(1) is None
    assert summary(buffer, 2) == (0, [2, 3, 4], [3, 4])


def test_it_is_a_whole_copy_with_info_and_recurrent_state() -> None:
    state = spaces.Box(-9, 9, (2,), np.float32)
    buffer = make(info_space={"mass": POSITION}, recurrent_state_space=state)
    given = Episode(
        observation=np.array([[1], [2], [3]], np.float32),
        action=np.array([[4], [5]], np.float32),
        reward=np.array([6, 7], np.float32),
        ending="open",
        info={"mass": np.array([[8], [9]], np.float32)},
        recurrent_state=np.array([[1, 2], [3, 4]], np.float32),
    )
    buffer.extend(0, given)
    for _ in range(2):
        found = buffer.open_episode(0)
        assert found is not None
        for name, value in given._asdict().items():
            if name != "ending":
                assert same(getattr(found.episode, name), value)
        scribble(found.episode)


@pytest.mark.parametrize("lane", [-1, 2, 0.5, None])
def test_a_lane_that_there_is_not(lane: Any) -> None:
    with pytest.raises(WoodshedError, match="lane"):
        make(n_envs=2).open_episode(lane)
