import numpy as np
import pytest
from gymnasium import spaces

from woodshed.envs import bounded_box
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
