"""Recurrent states stored with each step, and which of them a sequence gets."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.replay.drawing import handles
from tests.replay.filling import scribble
from tests.replay.line import GOAL_POSITION, POSITION, at_goal, minus_one_away, step

from woodshed.errors import WoodshedError
from woodshed.replay import Episode, FrameStack, Hindsight, Priorities, ReplayBuffer

STATE = spaces.Box(-np.inf, np.inf, (2,), np.float32)
LSTM = spaces.Dict({"h": STATE, "c": spaces.Box(-np.inf, np.inf, (), np.float32)})


def make(capacity: int = 100, space: Any = STATE, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(
        POSITION, POSITION, capacity, gamma=0.5, recurrent_state_space=space, **options
    )


def write(buffer: ReplayBuffer, positions: Any, ending: str, goal: float | None = None) -> None:
    """One episode; the state at a position p is [p, -p]."""
    positions = list(positions)
    for i, position in enumerate(positions[:-1]):
        last = i + 2 == len(positions)
        flags = {"terminated": last and ending == "terminated"}
        flags["truncated"] = last and ending == "truncated"
        state = np.array([[position, -position]], np.float32)
        arguments = step(position, positions[i + 1], goal=goal, **flags)
        buffer.add(**arguments, recurrent_state=state)


def states(buffer: ReplayBuffer, length: int, burn_in: int) -> dict[int, list[float]]:
    """The state of each sequence by the handle of its picked row."""
    batch = buffer.sample_sequences(300, length, burn_in)
    state = np.asarray(batch.recurrent_state)
    assert state.shape == (300, 2)
    assert state.dtype == np.float32
    seen: dict[int, list[float]] = {}
    for handle, row in zip(handles(batch), state.tolist(), strict=True):
        assert seen.setdefault(handle, row) == row
    return seen


def test_the_state_of_the_picked_row_without_burn_in() -> None:
    buffer = make()
    write(buffer, [5, 6, 7], "terminated")
    write(buffer, [8, 9], "open")
    assert states(buffer, length=3, burn_in=0) == {0: [5, -5], 1: [6, -6], 3: [8, -8]}


def test_the_state_of_the_first_burn_in_step_that_there_is() -> None:
    buffer = make()
    write(buffer, [1, 2], "truncated")  # rows 0 1
    write(buffer, [5, 6, 7, 8, 9], "truncated")  # rows 2..6
    assert states(buffer, length=1, burn_in=2) == {
        0: [1, -1], 2: [5, -5], 3: [5, -5], 4: [5, -5], 5: [6, -6],
    }  # fmt: skip


def test_overwritten_rows_have_no_state() -> None:
    buffer = make(capacity=3)
    write(buffer, range(1, 10), "open")  # positions 6 7 8 9 are left in rows 5..8
    assert states(buffer, length=1, burn_in=2) == {5: [6, -6], 6: [6, -6], 7: [6, -6]}


def test_rows_without_all_their_frames_have_no_state() -> None:
    buffer = make(capacity=4, frames=FrameStack(2))
    write(buffer, range(1, 10), "open")  # rows 4..8 are left, row 4 without its frames
    assert states(buffer, length=1, burn_in=3) == {5: [6, -6], 6: [6, -6], 7: [6, -6]}


def test_with_hindsight_priorities_and_info() -> None:
    hindsight = Hindsight("final", k=1e9, compute_reward=minus_one_away, compute_terminated=at_goal)
    buffer = ReplayBuffer(
        GOAL_POSITION,
        POSITION,
        100,
        hindsight=hindsight,
        priorities=Priorities(alpha=1.0),
        info_space={"mass": spaces.Box(0, 9, (), np.float32)},
        recurrent_state_space=STATE,
    )
    for position in (3, 4, 5):
        buffer.add(
            **step(position, position + 1, goal=50),
            info={"mass": np.array([2.0])},
            recurrent_state=np.array([[position, -position]], np.float32),
        )
    buffer.update_priorities(np.array([0, 1, 2]), np.array([0.0, 1.0, 1.0]))
    assert states(buffer, length=2, burn_in=1) == {1: [3, -3], 2: [4, -4]}


def test_a_dict_of_states_of_two_lanes() -> None:
    buffer = make(space=LSTM, n_envs=2)
    none = np.zeros(2, bool)
    for t in range(3):
        buffer.add(
            observation=np.array([[t], [10 + t]]),
            action=np.zeros((2, 1)),
            reward=np.zeros(2),
            terminated=none,
            truncated=none,
            next_observation=np.array([[t + 1], [11 + t]]),
            recurrent_state={"h": np.array([[t, 1], [t, 2]]), "c": np.array([t + 0.5, t + 10.5])},
        )
    batch = buffer.sample_sequences(100, length=1)
    state: Any = batch.recurrent_state
    assert set(state) == {"h", "c"}
    assert (state["h"].shape, state["c"].shape) == ((100, 2), (100,))
    for i, handle in enumerate(handles(batch)):
        t, lane = divmod(handle, 2)
        assert state["h"][i].tolist() == [t, lane + 1]
        assert state["c"][i] == t + 0.5 + 10 * lane


def test_episodes_carry_their_states() -> None:
    buffer = make(space=LSTM)
    given = Episode(
        observation=np.arange(4.0)[:, None],
        action=np.zeros((3, 1)),
        reward=np.zeros(3),
        ending="truncated",
        recurrent_state={"h": np.arange(6.0).reshape(3, 2), "c": np.array([7.0, 8.0, 9.0])},
    )
    buffer.extend(0, given)
    scribble(given)
    (episode,) = buffer.episodes()
    state: Any = episode.recurrent_state
    assert state["h"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert state["c"].tolist() == [7, 8, 9]
    scribble(state)
    (again,) = buffer.episodes()
    assert again.recurrent_state["c"].tolist() == [7, 8, 9]  # type: ignore[index]


def test_states_given_and_drawn_are_copies() -> None:
    buffer = make()
    state = np.array([[3.0, 4.0]])
    buffer.add(**step(0, 1), recurrent_state=state)
    state[...] = 77
    scribble(buffer.sample_sequences(5, length=1))
    assert states(buffer, length=1, burn_in=1) == {0: [3, 4]}


def test_without_a_space_there_is_none() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 10)
    buffer.add(**step(0, 1))
    assert buffer.sample_sequences(2, length=1).recurrent_state is None
    assert next(buffer.episodes()).recurrent_state is None


def refused(call: Any, names: str) -> None:
    with pytest.raises(WoodshedError, match=names) as error:
        call()
    assert "\n" not in str(error.value)


STATES: list[tuple[Any, str]] = [
    (None, "recurrent_state"),
    ({"h": np.zeros((1, 2))}, "c"),
    ({"h": np.zeros((1, 2)), "c": np.zeros(1), "d": np.zeros(1)}, "d"),
    (np.zeros((1, 2)), "recurrent_state"),
    ({"h": np.zeros((1, 3)), "c": np.zeros(1)}, "h"),
    ({"h": np.zeros((2, 2)), "c": np.zeros(2)}, "h"),
    ({"h": np.array([[0.0, np.nan]]), "c": np.zeros(1)}, "recurrent_state.*h"),
    ({"h": np.zeros((1, 2)), "c": np.array([np.inf])}, "recurrent_state.*c"),
]


@pytest.mark.parametrize(("state", "names"), STATES)
def test_bad_states_are_refused(state: Any, names: str) -> None:
    buffer = make(space=LSTM)
    refused(lambda: buffer.add(**step(0, 1), recurrent_state=state), names)
    episode = Episode(np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1), "open", {}, state)
    refused(lambda: buffer.extend(0, episode), names)
    assert len(buffer) == 0
    good = {"h": np.ones((1, 2)), "c": np.ones(1)}
    buffer.add(**step(4, 5), recurrent_state=good)
    assert len(buffer) == 1


def test_a_state_that_was_not_declared_is_refused() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 10)
    state = np.zeros((1, 2))
    refused(lambda: buffer.add(**step(0, 1), recurrent_state=state), "recurrent_state")
    episode = Episode(np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1), "open", {}, state)
    refused(lambda: buffer.extend(0, episode), "recurrent_state")
    assert len(buffer) == 0


@pytest.mark.parametrize("space", [spaces.Text(5), spaces.Dict({"h": spaces.Sequence(STATE)})])
def test_a_state_without_a_fixed_shape_is_refused(space: Any) -> None:
    refused(lambda: make(space=space), "recurrent_state")


def test_lanes_left_out_may_hold_any_state() -> None:
    buffer = make(n_envs=2)
    arrays: Any = {name: np.repeat(value, 2, axis=0) for name, value in step(0, 1).items()}
    state = np.array([[1.0, 2.0], [np.nan, 0.0]])
    buffer.add(**arrays, recurrent_state=state, mask=np.array([True, False]))
    assert states(buffer, length=1, burn_in=0) == {0: [1, 2]}
