"""Mistakes with priorities: one clear line, and nothing is changed."""

import contextlib
from typing import Any

import numpy as np
import pytest
from tests.replay.line import POSITION, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import Priorities, ReplayBuffer


def make(alpha: float = 1.0) -> ReplayBuffer:
    """Rows 0 1 2 of priorities 1 2 4."""
    priorities = Priorities(alpha=alpha, beta=1.0)
    buffer = ReplayBuffer(POSITION, POSITION, 100, priorities=priorities)
    write_episode(buffer, range(4), [0.0] * 3, "truncated")
    buffer.update_priorities(np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]))
    return buffer


def weights(buffer: ReplayBuffer) -> dict[int, float]:
    batch = buffer.sample(500)
    return dict(zip(batch.handle.tolist(), batch.weight.tolist(), strict=True))


UNCHANGED = {0: 1.0, 1: 0.5, 2: 0.25}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), -1.0, -1e-300])
def test_numbers_that_are_no_priority_are_refused(bad: float) -> None:
    buffer = make()
    with pytest.raises(WoodshedError, match="priority") as error:
        buffer.update_priorities(np.array([0, 1]), np.array([50.0, bad]))
    assert "\n" not in str(error.value)
    assert weights(buffer) == UNCHANGED
    write_episode(buffer, [10, 11], [0.0], "truncated")
    assert weights(buffer)[4] == 0.25  # the 50 was not given, so 4 is the largest still


@pytest.mark.parametrize(
    ("handle", "priority"),
    [
        ([0, 1], [1.0]),
        ([0], [1.0, 2.0]),
        ([0, 1], [[1.0], [2.0]]),
        ([0, 1], 1.0),
        ([0, 1], [[1.0, 2.0]]),
        ([[0], [1]], [1.0, 2.0]),
    ],
)
def test_wrong_shapes_are_refused(handle: Any, priority: Any) -> None:
    buffer = make()
    with pytest.raises(WoodshedError, match="shape") as error:
        buffer.update_priorities(np.array(handle), np.array(priority))
    assert "\n" not in str(error.value)
    assert weights(buffer) == UNCHANGED


@pytest.mark.parametrize("handle", [3, 4, 5, 1000, 2**40, -1, -5, -(2**40)])
def test_a_handle_that_names_no_transition_changes_nothing(handle: int) -> None:
    """The final row of the episode, rows not written yet, and no rows at all."""
    buffer = make()
    with contextlib.suppress(WoodshedError):  # or dropped
        assert buffer.update_priorities(np.array([handle]), np.array([3.0])) == 1
    assert weights(buffer) == UNCHANGED
    write_episode(buffer, [10, 11], [0.0], "truncated")  # handle 4
    assert weights(buffer) == UNCHANGED | {4: 0.25}


def test_an_update_without_priorities_is_refused() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 100)
    write_episode(buffer, range(4), [0.0] * 3, "truncated")
    with pytest.raises(WoodshedError, match="priorities"):
        buffer.update_priorities(buffer.sample(3).handle, np.ones(3))


def test_where_all_priorities_are_zero_nothing_can_be_sampled() -> None:
    buffer = make()
    buffer.update_priorities(np.array([0, 1, 2]), np.zeros(3))
    assert len(buffer) == 3
    with pytest.raises(WoodshedError, match="priorit") as error:
        buffer.sample(1)
    assert "\n" not in str(error.value)
    with pytest.raises(WoodshedError, match="priorit"):
        buffer.sample_sequences(1, 2)
    write_episode(buffer, [10, 11], [0.0], "truncated")
    assert weights(buffer) == {4: 1.0}


def test_an_empty_buffer_cannot_be_sampled() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 100, priorities=Priorities())
    with pytest.raises(WoodshedError):
        buffer.sample(1)
    with pytest.raises(WoodshedError):
        buffer.sample_sequences(1, 1)


def test_priority_zero_is_never_drawn_with_an_alpha_of_zero_either() -> None:
    buffer = make(alpha=0.0)
    buffer.update_priorities(np.array([1]), np.zeros(1))
    assert weights(buffer) == {0: 1.0, 2: 1.0}


@pytest.mark.parametrize(
    ("priority", "alpha"),
    [(1e308, 0.6), (1e308, 1.0), (1e308, 2.0), (1e200, 2.0), (1e-308, 0.6), (5e-324, 1.0)],
)
def test_rows_of_one_extreme_priority_are_alike_or_refused(priority: float, alpha: float) -> None:
    """A power or a sum that is out of range may be refused, but never draws something else."""
    buffer = make(alpha)
    try:
        buffer.update_priorities(np.array([0, 1, 2]), np.full(3, priority))
    except WoodshedError:
        return
    assert weights(buffer) == {0: 1.0, 1: 1.0, 2: 1.0}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"alpha": -0.1}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": float("inf")}, "alpha"),
        ({"beta": -0.1}, r"\bbeta\b"),
        ({"beta": float("nan")}, r"\bbeta\b"),
        ({"beta_end": float("inf")}, "beta_end"),
        ({"beta_steps": 0}, "beta_steps"),
        ({"beta_steps": -3}, "beta_steps"),
    ],
)
def test_settings_without_a_meaning_are_refused(options: dict[str, Any], names: str) -> None:
    with pytest.raises(WoodshedError, match=names) as error:
        Priorities(**options)
    assert "\n" not in str(error.value)
