from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from woodshed.connectors import scale_action, unscale_action

LOW = np.array([-1, 0, -3], np.float32)
HIGH = np.array([1, 10, -1], np.float32)


def test_scaling_three_bounds() -> None:
    action = np.array([[-1, -1, -1], [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]], np.float32)
    scaled = scale_action(action, LOW, HIGH)
    assert scaled.dtype == np.float32
    np.testing.assert_array_equal(scaled, [[-1, 0, -3], [0, 5, -2], [1, 10, -1], [0.5, 7.5, -1.5]])


def test_unscaling_three_bounds() -> None:
    action = np.array([[-1, 0, -3], [0, 5, -2], [1, 10, -1], [0.5, 7.5, -1.5]], np.float32)
    unscaled = unscale_action(action, LOW, HIGH)
    assert unscaled.dtype == np.float32
    expected = [[-1, -1, -1], [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]]
    np.testing.assert_array_equal(unscaled, expected)


def test_bounds_of_one_leave_the_action_as_it_is() -> None:
    action = np.random.default_rng(0).uniform(-1, 1, (100, 2)).astype(np.float32) * np.float32(1e-3)
    low, high = np.full(2, -1, np.float32), np.full(2, 1, np.float32)
    np.testing.assert_array_equal(scale_action(action, low, high), action)
    np.testing.assert_array_equal(unscale_action(action, low, high), action)


def test_what_lies_outside_is_brought_to_the_bounds() -> None:
    action = np.array([1.5, -2, 7], np.float32)
    np.testing.assert_array_equal(scale_action(action, LOW, HIGH), [1, 0, -1])
    action = np.array([1.5, -2, 7], np.float32)
    np.testing.assert_array_equal(unscale_action(action, LOW, HIGH), [1, -1, 1])


def test_equal_bounds_unscale_to_zero() -> None:
    bound = np.array([2], np.float32)
    np.testing.assert_array_equal(unscale_action(bound, bound, bound), [0])
    np.testing.assert_array_equal(scale_action(np.array([0.7], np.float32), bound, bound), [2])


def test_bounds_as_wide_as_the_type() -> None:
    high = np.array([np.finfo(np.float32).max])
    np.testing.assert_array_equal(
        scale_action(np.array([-1, 0, 1], np.float32), -high, high), [-high[0], 0, high[0]]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    low=st.floats(-100, 100, width=32),
    width=st.floats(0.125, 100, width=32),
    at=st.floats(-1, 1, width=32),
)
def test_the_one_undoes_the_other_and_bounds_hold(
    dtype: type, low: float, width: float, at: float
) -> None:
    lows: Any = np.array([low]).astype(dtype)
    highs: Any = np.array([low + width]).astype(dtype)
    scaled = scale_action(np.array([at]).astype(dtype), lows, highs)
    assert lows <= scaled <= highs
    # float32 has 24 bits: an error of a 2^-24th of the largest bound, seen from the smaller reach
    error = 4 * (abs(low) + width) * 2.0**-24 / (width / 2)
    np.testing.assert_allclose(unscale_action(scaled, lows, highs), [at], atol=error)
