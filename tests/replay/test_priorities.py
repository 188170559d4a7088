"""Rows picked by priority: chances, weights, and priorities that come late."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.replay.drawing import HISTORY, assert_drawn_from, handles
from tests.replay.filling import Filled, fill, update, write
from tests.replay.histories import Exponents, play
from tests.replay.line import POSITION, write_episode

from woodshed.replay import Priorities, ReplayBuffer

PRIORITISED = replace(HISTORY, priorities=Exponents(0.6, 0.4, 1.0, 200))


def make(capacity: int = 100, **options: Any) -> ReplayBuffer:
    settings = {"alpha": 1.0, "beta": 1.0, "beta_end": 1.0} | options
    return ReplayBuffer(POSITION, POSITION, capacity, priorities=Priorities(**settings))


def weight_of(buffer: ReplayBuffer, size: int = 500) -> dict[int, float]:
    """The weight of each row that comes up."""
    batch = buffer.sample(size)
    pairs = zip(handles(batch), batch.weight.tolist(), strict=True)
    return {handle: round(weight, 6) for handle, weight in pairs}


def test_new_rows_are_alike() -> None:
    buffer = make()
    write_episode(buffer, range(5), [0.0] * 4, "truncated")
    assert weight_of(buffer) == dict.fromkeys(range(4), 1.0)
    assert buffer.stale_priorities == 0


def test_weights_by_hand() -> None:
    """Chances 1/8 2/8 5/8; with beta 1 weights go as 1 : 1/2 : 1/5."""
    buffer = make()
    write_episode(buffer, range(4), [0.0] * 3, "truncated")
    assert buffer.update_priorities(np.array([0, 1, 2]), np.array([1.0, 2.0, 5.0])) == 0
    assert weight_of(buffer) == {0: 1.0, 1: 0.5, 2: 0.2}


def test_weights_are_relative_to_the_largest_of_the_batch() -> None:
    buffer = make()
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    buffer.update_priorities(np.array([0, 1]), np.array([1.0, 1e-12]))
    assert weight_of(buffer) == {0: 1.0}


def test_alpha_is_the_power_of_the_priority() -> None:
    buffer = make(alpha=0.5)
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    buffer.update_priorities(np.array([0, 1]), np.array([4.0, 1.0]))
    assert weight_of(buffer) == {0: 0.5, 1: 1.0}


def test_alpha_of_zero_is_uniform() -> None:
    buffer = make(alpha=0.0)
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    buffer.update_priorities(np.array([0, 1]), np.array([1000.0, 0.001]))
    assert weight_of(buffer) == {0: 1.0, 1: 1.0}


def test_beta_goes_in_a_straight_line_over_the_transitions_written() -> None:
    buffer = make(beta=0.0, beta_end=1.0, beta_steps=8)
    write_episode(buffer, range(3), [0.0] * 2, "truncated")  # 2 of 8: beta 1/4
    buffer.update_priorities(np.array([0, 1]), np.array([16.0, 1.0]))
    assert weight_of(buffer) == {0: 0.5, 1: 1.0}
    write_episode(buffer, range(3), [0.0] * 2, "truncated")  # 4 of 8: 1/2; handles 3 4
    assert weight_of(buffer) == {0: 0.25, 1: 1.0, 3: 0.25, 4: 0.25}
    write_episode(buffer, range(11), [0.0] * 10, "open")  # past the end: 1
    buffer.update_priorities(np.arange(6, 16), np.zeros(10))
    assert weight_of(buffer) == {0: 0.0625, 1: 1.0, 3: 0.0625, 4: 0.0625}


def test_new_rows_get_the_largest_priority_ever_given() -> None:
    buffer = make(capacity=5)
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    buffer.update_priorities(np.array([0, 1]), np.array([8.0, 2.0]))
    buffer.update_priorities(np.array([0]), np.array([4.0]))
    write_episode(buffer, [10, 11], [0.0], "truncated")
    assert weight_of(buffer) == {0: 0.5, 1: 1.0, 3: 0.25}
    buffer.update_priorities(np.array([1, 3]), np.array([0.5, 0.25]))
    write_episode(buffer, [20, 21], [0.0], "truncated")  # rows 5 6: row 0 is overwritten
    assert weight_of(buffer) == {1: 0.5, 3: 1.0, 5: 0.03125}


def test_priorities_below_one_leave_new_rows_at_one() -> None:
    buffer = make()
    write_episode(buffer, range(2), [0.0], "open")
    buffer.update_priorities(np.array([0]), np.array([0.5]))
    write_episode(buffer, [1, 2], [0.0], "open")
    assert weight_of(buffer) == {0: 1.0, 1: 0.5}


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_a_row_of_priority_zero_is_never_drawn(alpha: float) -> None:
    buffer = make(alpha=alpha)
    write_episode(buffer, range(6), [0.0] * 5, "truncated")
    buffer.update_priorities(np.array([0, 2, 4]), np.zeros(3))
    assert weight_of(buffer, 20_000).keys() == {1, 3}
    buffer.update_priorities(np.array([4]), np.array([1.0]))
    assert weight_of(buffer).keys() == {1, 3, 4}


def test_where_a_row_comes_twice_its_last_priority_counts() -> None:
    buffer = make()
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    given = np.array([0, 1, 0, 1, 0]), np.array([9.0, 9.0, 0.0, 1.0, 4.0])
    assert buffer.update_priorities(*given) == 0
    assert weight_of(buffer) == {0: 0.25, 1: 1.0}


def test_what_comes_too_late_never_hits_the_newer_row_in_the_same_place() -> None:
    buffer = make(capacity=3)
    write_episode(buffer, range(3), [0.0] * 2, "truncated")  # rows 0 1 2
    old = buffer.sample(50).handle
    write_episode(buffer, range(10, 14), [0.0] * 3, "truncated")  # rows 3..6 in all four places
    assert buffer.update_priorities(old, np.full(50, 7.0)) == buffer.stale_priorities == 50
    assert weight_of(buffer) == {3: 1.0, 4: 1.0, 5: 1.0}
    assert buffer.update_priorities(np.array([1, 4, 0]), np.array([5.0, 2.0, 5.0])) == 2
    assert buffer.stale_priorities == 52
    assert weight_of(buffer) == {3: 1.0, 4: 0.5, 5: 1.0}


def test_an_empty_update_changes_nothing() -> None:
    buffer = make()
    write_episode(buffer, range(3), [0.0] * 2, "truncated")
    assert buffer.update_priorities(np.zeros(0, np.int64), np.zeros(0)) == 0
    assert weight_of(buffer) == {0: 1.0, 1: 1.0}


def assert_drawn_by_priority(filled: Filled, size: int = 60_000) -> None:
    """Rows as often as the reference says, with the reference's weights."""
    buffer, reference, priorities = filled
    assert priorities is not None
    batch = buffer.sample(size)
    assert_drawn_from(priorities.chances(), handles(batch))
    np.testing.assert_allclose(batch.weight, priorities.weights(handles(batch)), rtol=2e-6)
    assert len(buffer) == len(reference)


def spread(generator: np.random.Generator, size: int) -> Any:
    """From 0.1 to 10, a tenth of them 0."""
    return 10 ** generator.uniform(-1, 1, size) * (generator.random(size) > 0.1)


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_rows_come_as_often_as_their_priority_says(alpha: float) -> None:
    filled = fill(replace(HISTORY, priorities=Exponents(alpha, 0.4, 1.0, 200)), None)
    stored = np.array(list(filled.reference.by_handle()))
    update(filled, stored, spread(np.random.default_rng(0), stored.size))
    assert_drawn_by_priority(filled)


def test_two_samples_may_wait_for_their_priorities_through_writes_and_evictions() -> None:
    begun = replace(PRIORITISED, vector_steps=30)
    filled = fill(begun, None)
    generator = np.random.default_rng(1)
    waiting: list[Any] = []
    for call in list(play(PRIORITISED))[len(list(play(begun))) :]:
        waiting.append(filled.buffer.sample(40).handle)
        if len(waiting) > 2:
            handle = waiting.pop(0)
            update(filled, handle, spread(generator, handle.size))
        write(call, filled)
    for handle in waiting:
        update(filled, handle, spread(generator, handle.size))
    assert filled.buffer.stale_priorities > 20
    assert_drawn_by_priority(filled)


def test_sequences_are_picked_by_priority() -> None:
    filled = fill(PRIORITISED, None)
    stored = np.array(list(filled.reference.by_handle()))
    update(filled, stored, spread(np.random.default_rng(2), stored.size))
    assert filled.priorities is not None
    batch = filled.buffer.sample_sequences(60_000, length=3, burn_in=2)
    assert_drawn_from(filled.priorities.chances(), handles(batch))
    expected = filled.priorities.weights(handles(batch))
    np.testing.assert_allclose(batch.weight, expected, rtol=2e-6)


def test_the_same_seed_writes_and_priorities_give_the_same_batches() -> None:
    first, second = fill(PRIORITISED, "future"), fill(PRIORITISED, "future")
    for _ in range(5):
        left, right = first.buffer.sample(64), second.buffer.sample(64)
        np.testing.assert_array_equal(left.handle, right.handle)
        np.testing.assert_array_equal(left.reward, right.reward)
        np.testing.assert_array_equal(left.weight, right.weight)
        for buffer in (first.buffer, second.buffer):
            buffer.update_priorities(left.handle, np.linspace(0.0, 5.0, 64))
