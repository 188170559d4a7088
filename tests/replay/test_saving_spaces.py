"""A save of another environment is refused, and what differs is named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.replay.line import step

from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer


def box(*shape: int, dtype: Any = np.float32) -> spaces.Box:
    return spaces.Box(-9, 9, shape, dtype)


BASE: dict[str, Any] = {
    "observation_space": spaces.Dict({"image": box(2, 2), "speed": box(3)}),
    "action_space": box(2),
    "info_space": {"mass": box()},
    "recurrent_state_space": box(4),
}
OTHERS: list[tuple[str, Any, str]] = [
    ("observation_space", spaces.Dict({"image": box(2, 2), "speed": box(4)}), "speed"),
    ("observation_space", spaces.Dict({"image": box(4), "speed": box(3)}), "image"),
    ("observation_space", spaces.Dict({"image": box(2, 2)}), "speed"),
    ("observation_space", spaces.Dict({"image": box(2, 2), "pace": box(3)}), "speed"),
    ("observation_space", box(7), "observation"),
    (
        "observation_space",
        spaces.Dict({"image": box(2, 2), "speed": box(3), "depth": box()}),
        "depth",
    ),
    (
        "observation_space",
        spaces.Dict({"image": box(2, 2, dtype=np.int32), "speed": box(3)}),
        "image",
    ),
    ("action_space", box(3), "action"),
    ("action_space", spaces.Discrete(3), "action"),
    ("info_space", {"mass": box(1)}, "mass"),
    ("info_space", {"weight": box()}, "mass"),
    ("info_space", {"mass": box(), "length": box()}, "length"),
    ("info_space", None, "mass"),
    ("recurrent_state_space", box(5), "recurrent_state"),
    ("recurrent_state_space", spaces.Dict({"h": box(4)}), "recurrent_state"),
    ("recurrent_state_space", None, "recurrent_state"),
    ("float_dtype", np.float64, "observation|action"),
]


def filled() -> ReplayBuffer:
    buffer = ReplayBuffer(**BASE, capacity=10)
    look = {"image": np.zeros((1, 2, 2)), "speed": np.ones((1, 3))}
    buffer.add(
        **step(0, 1) | {"observation": look, "next_observation": look, "action": np.ones((1, 2))},
        info={"mass": np.ones(1)},
        recurrent_state=np.ones((1, 4)),
    )
    return buffer


@pytest.mark.parametrize("capacity", [10, 20])
@pytest.mark.parametrize("n_envs", [1, 2])
@pytest.mark.parametrize(("name", "other", "names"), OTHERS)
def test_another_space_is_named(
    name: str, other: Any, names: str, n_envs: int, capacity: int, tmp_path: Path
) -> None:
    filled().save(tmp_path / "saved")
    buffer = ReplayBuffer(**BASE | {name: other}, capacity=capacity, n_envs=n_envs)
    with pytest.raises(WoodshedError, match=names) as error:
        buffer.load(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert len(buffer) == 0
    same = ReplayBuffer(**BASE, capacity=capacity, n_envs=n_envs)
    same.load(tmp_path / "saved")
    assert len(same) == 1
