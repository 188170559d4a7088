"""Sequences: masks, windows of each step and goals, with literal numbers and by chance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.reference.replay import same
from tests.replay.drawing import (
    HISTORY,
    assert_drawn_from,
    drawn_goals,
    expected_goals,
    handles,
    uniform,
)
from tests.replay.filling import desired_goals, fill
from tests.replay.histories import LanePlan
from tests.replay.line import (
    GOAL_POSITION,
    POSITION,
    Ending,
    at_goal,
    minus_one_away,
    write_episode,
)

from woodshed.errors import WoodshedError
from woodshed.replay import Hindsight, ReplayBuffer, SequenceBatch


def make(**options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, 100, gamma=0.5, **options)


def relabelling(**options: Any) -> ReplayBuffer:
    """Every sequence with the goal of its episode's end, reaching which terminates."""
    hindsight = Hindsight("final", k=1e9, compute_reward=minus_one_away, compute_terminated=at_goal)
    return ReplayBuffer(GOAL_POSITION, POSITION, 100, gamma=0.5, hindsight=hindsight, **options)


Columns = tuple[list[float], list[float], list[float], list[int], list[bool]]


def by_handle(batch: SequenceBatch) -> dict[int, Columns]:
    """Positions, reward, discount, steps and mask of each picked row that comes up."""
    seen: Any = batch.observation
    if isinstance(seen, dict):
        seen = seen["achieved_goal"]
    found: dict[int, Columns] = {}
    for i, handle in enumerate(handles(batch)):
        columns = (batch.reward, batch.discount, batch.steps, batch.mask)
        row: Any = (seen[i, :, 0].tolist(), *(column[i].tolist() for column in columns))
        assert found.setdefault(handle, row) == row
    return found


@pytest.mark.parametrize(
    ("ending", "over"), [("truncated", 1.0), ("cut", 1.0), ("open", 1.0), ("terminated", 0.0)]
)
def test_sequences_by_hand(ending: Ending, over: float) -> None:
    buffer = make(n_step=2)
    write_episode(buffer, range(6), [1.0, 2.0, 4.0, 8.0, 16.0], ending)
    no, yes = False, True
    quarter, half = 0.25 * over, 0.5 * over
    assert by_handle(buffer.sample_sequences(300, length=2, burn_in=1)) == {
        0: ([0, 0, 1, 2, 3], [0, 2, 4], [0, 0.25, 0.25], [0, 2, 2], [no, yes, yes]),
        1: ([0, 1, 2, 3, 4], [2, 4, 8], [0.25, 0.25, 0.25], [2, 2, 2], [yes, yes, yes]),
        2: ([1, 2, 3, 4, 5], [4, 8, 16], [0.25, 0.25, quarter], [2, 2, 2], [yes, yes, yes]),
        3: ([2, 3, 4, 5, 5], [8, 16, 16], [0.25, quarter, half], [2, 2, 1], [yes, yes, yes]),
        4: ([3, 4, 5, 5, 5], [16, 16, 0], [quarter, half, 0], [2, 1, 0], [yes, yes, no]),
    }


def test_a_sequence_never_leaves_its_episode() -> None:
    buffer = make()
    write_episode(buffer, [0, 1], [1.0], "terminated")  # rows 0 1
    write_episode(buffer, [10, 11, 12], [2.0, 3.0], "truncated")  # rows 2 3 4
    write_episode(buffer, [20, 21], [4.0], "open")  # rows 5 6
    no, yes = False, True
    assert by_handle(buffer.sample_sequences(300, length=2, burn_in=1)) == {
        0: ([0, 0, 1, 1], [0, 1, 0], [0, 0, 0], [0, 1, 0], [no, yes, no]),
        2: ([10, 10, 11, 12], [0, 2, 3], [0, 0.5, 0.5], [0, 1, 1], [no, yes, yes]),
        3: ([10, 11, 12, 12], [2, 3, 0], [0.5, 0.5, 0], [1, 1, 0], [yes, yes, no]),
        5: ([20, 20, 21, 21], [0, 4, 0], [0, 0.5, 0], [0, 1, 0], [no, yes, no]),
    }


def test_overwritten_rows_are_not_there_to_burn_in_with() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 3, gamma=0.5)
    write_episode(buffer, range(9), [1.0] * 8, "open")  # positions 5 6 7 8 are left
    seen = by_handle(buffer.sample_sequences(100, length=1, burn_in=2))
    assert seen.keys() == {5, 6, 7}
    assert seen[5] == ([5, 5, 5, 6], [0, 0, 1], [0, 0, 0.5], [0, 0, 1], [False, False, True])
    assert seen[6][4] == [False, True, True]
    assert seen[7][:2] == ([5, 6, 7, 8], [1, 1, 1])


def test_a_relabelled_sequence_ends_where_it_terminates_from_the_picked_row_on() -> None:
    buffer = relabelling()
    write_episode(buffer, [0, 1, 2, 1, 2], [9.0] * 4, "truncated", goal=50)  # its goal: 2
    batch = buffer.sample_sequences(200, length=3, burn_in=1)
    assert (desired_goals(batch) == 2).all()
    no, yes = False, True
    assert by_handle(batch) == {
        0: ([0, 0, 1, 2, 1], [0, -1, 0, 0], [0, 0.5, 0, 0], [0, 1, 1, 0], [no, yes, yes, no]),
        1: ([0, 1, 2, 1, 2], [-1, 0, 0, 0], [0.5, 0, 0, 0], [1, 1, 0, 0], [yes, yes, no, no]),
        # the burn-in step of 2 terminates, but that is before the picked row
        2: ([1, 2, 1, 2, 2], [0, -1, 0, 0], [0, 0.5, 0, 0], [1, 1, 1, 0], [yes, yes, yes, no]),
        3: ([2, 1, 2, 2, 2], [-1, 0, 0, 0], [0.5, 0, 0, 0], [1, 1, 0, 0], [yes, yes, no, no]),
    }


def test_windows_of_a_relabelled_sequence_stop_in_the_burn_in_too() -> None:
    buffer = relabelling(n_step=3)
    write_episode(buffer, [0, 1, 2, 1, 2], [9.0] * 4, "truncated", goal=50)
    seen = by_handle(buffer.sample_sequences(200, length=2, burn_in=2))
    assert seen[2] == (
        [0, 1, 2, 1, 2, 2, 2],
        [-1, 0, -1, 0],
        [0, 0, 0, 0],
        [2, 1, 2, 1],
        [True, True, True, True],
    )


def test_original_sequences_go_on_past_the_goal() -> None:
    hindsight = Hindsight("final", k=0, compute_reward=minus_one_away, compute_terminated=at_goal)
    buffer = ReplayBuffer(GOAL_POSITION, POSITION, 9, gamma=0.5, hindsight=hindsight)
    write_episode(buffer, [0, 1, 2], [8.0, 16.0], "truncated", goal=1)
    batch = buffer.sample_sequences(50, length=2)
    assert by_handle(batch)[0] == ([0, 1, 2], [8, 16], [0.5, 0.5], [1, 1], [True, True])
    assert (desired_goals(batch) == 1).all()


def test_dtypes_and_shapes() -> None:
    space = spaces.Dict(
        {"image": spaces.Box(0, 255, (4, 5, 3), np.uint8), "mode": spaces.Discrete(7)}
    )
    buffer = ReplayBuffer(space, spaces.MultiDiscrete([3, 4]), 10, n_step=(1, 3))
    look = {"image": np.full((1, 4, 5, 3), 200, np.uint8), "mode": np.array([6])}
    none = np.array([False])
    for _ in range(3):
        buffer.add(
            observation=look,
            action=np.array([[2, 3]]),
            reward=np.array([1.0]),
            terminated=none,
            truncated=none,
            next_observation=look,
        )
    batch = buffer.sample_sequences(6, length=4, burn_in=2)
    assert isinstance(batch.observation, dict)
    fields: dict[str, Any] = {**batch._asdict(), **batch.observation}
    del fields["observation"]
    assert fields.pop("recurrent_state") is None
    assert {name: (value.shape, value.dtype) for name, value in fields.items()} == {
        "image": ((6, 6 + 3, 4, 5, 3), np.uint8),
        "mode": ((6, 6 + 3), np.int64),
        "action": ((6, 6, 2), np.int64),
        "reward": ((6, 6), np.float32),
        "discount": ((6, 6), np.float32),
        "steps": ((6, 6), np.int32),
        "mask": ((6, 6), np.bool_),
        "weight": ((6,), np.float32),
        "handle": ((6,), np.int64),
        "relabelled": ((6,), np.bool_),
    }
    assert (fields["image"] == 200).all()
    assert batch.weight.tolist() == [1.0] * 6


def test_picked_rows_are_uniform() -> None:
    buffer, reference, _ = fill(HISTORY, "future")
    batch = buffer.sample_sequences(60_000, length=2, burn_in=3)
    assert_drawn_from(uniform(list(reference.by_handle())), handles(batch))


def test_n_is_drawn_for_each_step_by_itself() -> None:
    buffer = make(n_step=(2, 4))
    write_episode(buffer, range(61), [1.0] * 60, "open")
    batch = buffer.sample_sequences(30_000, length=2, burn_in=1)
    whole = (batch.handle >= 1) & (batch.handle < 55)
    triples = list(map(tuple, batch.steps[whole].tolist()))
    cells = [(a, b, c) for a in (2, 3, 4) for b in (2, 3, 4) for c in (2, 3, 4)]
    assert_drawn_from(uniform(cells), triples)


@pytest.mark.parametrize(
    "source",
    ["future", "geometric", "final", "episode", "random", {"original": 0.5, "random": 0.5}],
)
def test_goals_are_drawn_for_the_picked_row(source: Any) -> None:
    plan = replace(HISTORY, lanes=(*HISTORY.lanes[:1], LanePlan(((30, "cut"),), (True,))))
    buffer, reference, _ = fill(replace(plan, n_step=(1, 3), capacity=20), source)
    batch = buffer.sample_sequences(60_000, length=2, burn_in=2)
    assert_drawn_from(expected_goals(reference, source), drawn_goals(batch))


def test_the_same_seed_and_writes_give_the_same_sequences() -> None:
    first, second = (fill(replace(HISTORY, n_step=(1, 4), k=1), "episode")[0] for _ in range(2))
    for length, burn_in in ((3, 2), (1, 0), (3, 2)):
        left = first.sample_sequences(40, length, burn_in)
        right = second.sample_sequences(40, length, burn_in)
        assert all(same(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((0, 1, 0), "batch_size"),
        ((4, 0, 0), "length"),
        ((4, -1, 0), "length"),
        ((4, 1.5, 0), "length"),
        ((4, 1, -1), "burn_in"),
        ((4, 1, 0.5), "burn_in"),
    ],
)
def test_numbers_without_a_meaning_are_refused(arguments: Any, names: str) -> None:
    buffer = make()
    write_episode(buffer, [0, 1], [1.0], "open")
    with pytest.raises(WoodshedError, match=names):
        buffer.sample_sequences(*arguments)


def test_sampling_needs_something_to_sample() -> None:
    with pytest.raises(WoodshedError):
        make().sample_sequences(1, 1)
