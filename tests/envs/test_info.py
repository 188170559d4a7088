from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Counting, Wandering

from woodshed.envs import probe_info_space
from woodshed.errors import WoodshedError


class Telling(Counting):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], {
            "float": 1.5,
            "int": 3,
            "bool": True,
            "small": np.float32(2),
            "bytes": np.zeros((2, 3), np.uint8),
            "word": "text",
        }


def test_each_value_is_described_by_its_shape_and_dtype() -> None:
    made: list[Telling] = []

    def make() -> Telling:
        made.append(Telling())
        return made[-1]

    described = probe_info_space(make, ["float", "int", "bool", "small", "bytes"])

    infinity, integers = np.inf, np.iinfo(np.int64)
    assert described == {
        "float": spaces.Box(-infinity, infinity, (), np.float64),
        "int": spaces.Box(integers.min, integers.max, (), np.int64),
        "bool": spaces.Box(0, 1, (), np.bool_),  # type: ignore[arg-type]
        "small": spaces.Box(-infinity, infinity, (), np.float32),
        "bytes": spaces.Box(0, 255, (2, 3), np.uint8),
    }
    assert list(described) == ["float", "int", "bool", "small", "bytes"]
    assert [(env.seeds, env.time, env.closed) for env in made] == [([0], 1, 1)]


def test_an_id_is_taken_too() -> None:
    described = probe_info_space("woodshed/PointReach-v0", ["is_success"])
    assert described["is_success"].dtype == np.bool_


def test_without_keys_no_environment_is_made() -> None:
    assert probe_info_space(lambda: pytest.fail("made an environment"), []) == {}


def test_a_missing_key_is_named_with_those_there_and_the_environment_closed() -> None:
    env = Wandering()
    closed: list[bool] = []
    env.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with pytest.raises(
        WoodshedError, match=r"no info key 'mass' .*: 'height', 'is_success', 'pair'"
    ):
        probe_info_space(lambda: env, ["mass"])
    assert closed == [True]


def test_a_value_that_is_not_numbers_is_refused() -> None:
    with pytest.raises(WoodshedError, match="info key 'word' must hold numbers"):
        probe_info_space(Telling, ["word"])
