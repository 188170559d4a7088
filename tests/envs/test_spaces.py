from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from woodshed.envs import bounded_box
from woodshed.envs.spaces import action_rows
from woodshed.errors import WoodshedError


def test_a_bounded_box_of_floats_is_returned() -> None:
    box = spaces.Box(np.array([-1, -2], np.float32), np.array([1, 5], np.float32))
    assert bounded_box(box) is box
    double = spaces.Box(-1, 1, (3,), np.float64)
    assert bounded_box(double) is double


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-np.inf, np.inf, (2,)), "is unbounded, but SAC, TQC and TD3 need"),
        (
            spaces.Box(np.array([-1.0, -np.inf]), np.array([1.0, 0.0]), dtype=np.float64),
            "is unbounded",
        ),
        (
            spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, np.inf]), dtype=np.float64),
            "is unbounded",
        ),
        (spaces.Discrete(4), r"is Discrete\(4\), but SAC, TQC .* need a Box .* need DQN"),
        (spaces.Box(0, 255, (2,), np.uint8), "need a Box of floats"),
        (spaces.MultiDiscrete([2, 2]), "need a Box of floats"),
        (spaces.Dict({"a": spaces.Box(-1, 1)}), "need a Box of floats"),
    ],
)
def test_other_spaces_are_refused(space: spaces.Space, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(WoodshedError, match=message):
        bounded_box(space)


@pytest.mark.parametrize(
    ("action", "space", "expected"),
    [
        ([[0.5], [1]], spaces.Box(-1, 1, (1,)), np.array([[0.5], [1]], np.float32)),
        (np.zeros((2, 1)), spaces.Box(-1, 1, (1,)), np.zeros((2, 1), np.float32)),
        ([1, 0], spaces.Discrete(3), np.array([1, 0])),
        ([[1, 2], [3, 4]], spaces.Tuple([spaces.Discrete(9)] * 2), np.array([[1, 2], [3, 4]])),
    ],
)
def test_actions_in_the_spaces_dtype(action: Any, space: Any, expected: Any) -> None:
    rows = action_rows(action, 2, space)
    np.testing.assert_array_equal(rows, expected)
    assert rows.dtype == expected.dtype
    assert not np.shares_memory(rows, np.asarray(action))


def test_no_actions_of_a_space() -> None:
    assert action_rows([], 0, spaces.Box(-1, 1, (2,))).shape == (0, 2)


@pytest.mark.parametrize(
    ("action", "space", "message"),
    [
        (np.zeros((3, 1)), spaces.Box(-1, 1, (1,)), "3 actions were given for 2 lanes"),
        (np.zeros((2, 2)), spaces.Box(-1, 1, (1,)), r"expected \(2, 1\) and float32"),
        ([[0], [1]], spaces.Discrete(3), r"expected \(2,\) and int64"),
        ([0.5, 1], spaces.Discrete(3), "dtype float64 were given"),
    ],
)
def test_actions_that_do_not_fit(action: Any, space: Any, message: str) -> None:
    with pytest.raises(WoodshedError, match=message):
        action_rows(action, 2, space)
