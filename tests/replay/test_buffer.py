"""The buffer without hindsight: windows with literal numbers."""

from typing import Any

import numpy as np
import pytest
from tests.replay.line import POSITION, Ending, rows, step, write_episode

from woodshed.replay import ReplayBuffer


def make(capacity: int = 100, **options: object) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, **options)  # type: ignore[arg-type]


def test_one_step_windows_of_a_terminated_episode() -> None:
    buffer = make(gamma=0.9)
    write_episode(buffer, [0, 10, 20], [1.0, 2.0], "terminated")
    assert len(buffer) == 2
    assert rows(buffer) == {(0, 1): (1.0, 0.9, 10), (10, 1): (2.0, 0.0, 20)}


@pytest.mark.parametrize(
    ("ending", "discount"),
    [("terminated", 0.0), ("truncated", 0.25), ("cut", 0.25), ("open", 0.25)],
)
def test_an_episode_shorter_than_n(ending: Ending, discount: float) -> None:
    buffer = make(gamma=0.5, n_step=5)
    write_episode(buffer, [0, 10, 20], [1.0, 4.0], ending)
    assert rows(buffer) == {
        (0, 2): (1.0 + 0.5 * 4.0, discount, 20),
        (10, 1): (4.0, 2 * discount, 20),
    }


def test_a_truncated_tail_bootstraps_over_the_two_steps_that_are_left() -> None:
    buffer = make(gamma=0.9, n_step=5)
    write_episode(buffer, [0, 1, 2, 3, 4, 5, 6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "truncated")
    seen = rows(buffer)
    assert seen[4, 2] == (round(5.0 + 0.9 * 6.0, 6), 0.81, 6)
    assert seen[1, 5] == (
        round(2.0 + 0.9 * 3.0 + 0.81 * 4.0 + 0.729 * 5.0 + 0.6561 * 6.0, 6),
        0.59049,
        6,
    )
    assert {key: seen[key][2] for key in seen} == {
        (0, 5): 5, (1, 5): 6, (2, 4): 6, (3, 3): 6, (4, 2): 6, (5, 1): 6,
    }  # fmt: skip


def test_terminated_wins_over_truncated() -> None:
    buffer = make(gamma=0.9)
    buffer.add(**step(0, 1, terminated=True, truncated=True))
    assert buffer.sample(1).discount == 0.0


def test_windows_of_an_open_episode_grow_with_it() -> None:
    buffer = make(gamma=0.5, n_step=2)
    write_episode(buffer, [0, 1], [1.0], "open")
    assert rows(buffer) == {(0, 1): (1.0, 0.5, 1)}
    write_episode(buffer, [1, 2], [2.0], "open")
    assert rows(buffer) == {(0, 2): (2.0, 0.25, 2), (1, 1): (2.0, 0.5, 2)}


def test_a_range_of_n_is_closed() -> None:
    buffer = make(gamma=0.5, n_step=(2, 5))
    write_episode(buffer, range(21), [1.0] * 20, "truncated")
    assert {key for key in rows(buffer, 4000) if key[0] <= 15} == {
        (start, n) for start in range(16) for n in (2, 3, 4, 5)
    }
    assert rows(buffer, 4000)[3, 5] == (1.9375, 0.03125, 8)


def test_the_true_final_observation_of_a_time_limit_is_kept() -> None:
    buffer = make(gamma=0.5)
    write_episode(buffer, [0, 1, 99], [0.0, 0.0], "truncated")
    write_episode(buffer, [7, 8], [0.0], "truncated")  # the reset observation is 7, not 99
    assert rows(buffer) == {(0, 1): (0, 0.5, 1), (1, 1): (0, 0.5, 99), (7, 1): (0, 0.5, 8)}


def test_an_episode_goes_on_where_it_was_as_stored() -> None:
    buffer = make()
    tenth = np.array([[0.1]])  # not a float32
    buffer.add(**step(0, 0) | {"next_observation": tenth})
    buffer.add(**step(0, 0) | {"observation": tenth, "next_observation": np.array([[0.0]])})
    buffer.add(**step(-0.0, 1))  # minus zero equals zero
    assert len(buffer) == 3


def test_cut_ends_the_open_episodes_of_the_lanes_in_the_mask() -> None:
    buffer = make(n_envs=2, gamma=0.5, n_step=3)
    for t in range(2):
        if t == 1:
            buffer.cut(np.array([True, False]))
            buffer.cut(np.array([True, False]))  # has no open episode any more
        buffer.add(
            observation=np.array([[t], [10 + t]], np.float32),
            action=np.zeros((2, 1)),
            reward=np.array([1.0, 1.0]),
            terminated=np.zeros(2, bool),
            truncated=np.zeros(2, bool),
            next_observation=np.array([[t + 1], [11 + t]], np.float32),
        )
    assert len(buffer) == 4
    assert rows(buffer) == {
        (0, 1): (1.0, 0.5, 1),
        (1, 1): (1.0, 0.5, 2),
        (10, 2): (1.5, 0.25, 12),
        (11, 1): (1.0, 0.5, 12),
    }


def test_the_mask_leaves_lanes_out_unread() -> None:
    buffer = make(n_envs=2)
    nan, no = np.array([[1.0], [np.nan]], np.float32), np.zeros(2, bool)
    arrays: dict[str, Any] = {"observation": nan, "action": nan, "reward": nan[:, 0]}
    arrays |= {"next_observation": nan, "terminated": no, "truncated": no}
    buffer.add(**arrays, mask=np.array([True, False]))
    assert len(buffer) == 1
    assert buffer.sample(50).handle.tolist() == [0] * 50
