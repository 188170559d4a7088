"""Every mistake of a user gets one clear line, and nothing is written by a refused call."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.replay.line import GOAL_POSITION, POSITION, at_goal, minus_one_away, step

from woodshed.errors import WoodshedError
from woodshed.replay import Hindsight, ReplayBuffer


def refused(error: pytest.ExceptionInfo[WoodshedError]) -> str:
    """The message, which must be one line."""
    message = str(error.value)
    assert message
    assert "\n" not in message
    return message


def make(capacity: int = 10, space: Any = POSITION, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(space, POSITION, capacity, **options)


def two_lanes(**other: Any) -> dict[str, Any]:
    """Arguments of `add` for two environments, from 0 to 1 and from 10 to 11."""
    arguments = {
        "observation": np.array([[0.0], [10.0]]),
        "action": np.array([[0.0], [0.5]]),
        "reward": np.array([1.0, 2.0]),
        "terminated": np.array([False, False]),
        "truncated": np.array([False, False]),
        "next_observation": np.array([[1.0], [11.0]]),
        "info": {"mass": np.array([3.0, 4.0])},
    }
    return arguments | other


def two_lane_buffer(**options: Any) -> ReplayBuffer:
    return make(n_envs=2, info_space={"mass": spaces.Box(0, 9, (), np.float32)}, **options)


BAD = [
    ("observation", np.array([[0.0], [np.nan]])),
    ("next_observation", np.array([[1.0], [np.inf]])),
    ("action", np.array([[0.0], [-np.inf]])),
    ("reward", np.array([1.0, np.nan])),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_nan_and_inf_name_field_and_environment(field: str, value: Any) -> None:
    buffer = two_lane_buffer()
    with pytest.raises(WoodshedError, match=rf"\b{field}\b.*\b1\b") as error:
        buffer.add(**two_lanes(**{field: value}))
    refused(error)
    assert len(buffer) == 0


def test_nan_in_info_names_its_key_and_environment() -> None:
    buffer = two_lane_buffer()
    with pytest.raises(WoodshedError, match=r"mass.*\b0\b") as error:
        buffer.add(**two_lanes(info={"mass": np.array([np.nan, 4.0])}))
    refused(error)
    assert len(buffer) == 0


def test_nan_in_a_nested_observation_names_its_key() -> None:
    buffer = make(space=GOAL_POSITION)
    arguments = step(0, 1, goal=5)
    arguments["observation"]["achieved_goal"] = np.array([[np.nan]])
    with pytest.raises(WoodshedError, match=r"observation.*achieved_goal") as error:
        buffer.add(**arguments)
    refused(error)


def test_nan_in_whole_numbers_is_refused() -> None:
    """A cast to uint8 would make any number of it."""
    buffer = make(space=spaces.Box(0, 255, (1,), np.uint8))
    with pytest.raises(WoodshedError, match="observation") as error:
        buffer.add(**step(0, 1) | {"observation": np.array([[np.nan]])})
    refused(error)
    assert len(buffer) == 0


SHAPES = [
    ("observation", np.array([0.0, 10.0])),
    ("observation", np.array([[0.0, 10.0]])),
    ("observation", {"observation": np.array([[0.0], [10.0]])}),
    ("next_observation", np.array([[1.0]])),
    ("action", np.array([0.0, 0.5])),
    ("action", np.array([[0.0, 0.5], [0.0, 0.5]])),
    ("reward", np.array([[1.0], [2.0]])),
    ("reward", np.array([1.0])),
    ("terminated", np.array([False])),
    ("truncated", np.array([[False], [False]])),
    ("mask", np.array([True])),
]


@pytest.mark.parametrize(("field", "value"), SHAPES)
def test_a_wrong_shape_names_the_field(field: str, value: Any) -> None:
    buffer = two_lane_buffer()
    with pytest.raises(WoodshedError, match=rf"\b{field}\b") as error:
        buffer.add(**two_lanes(**{field: value}))
    refused(error)
    assert len(buffer) == 0


def test_a_wrong_mask_for_cut() -> None:
    with pytest.raises(WoodshedError, match="mask") as error:
        two_lane_buffer().cut(np.array([True, False, True]))
    refused(error)


@pytest.mark.parametrize(
    ("info", "key"),
    [
        (None, "mass"),
        ({}, "mass"),
        ({"speed": np.zeros(2)}, "mass|speed"),
        ({"mass": np.zeros(2), "speed": np.zeros(2)}, "speed"),
        ({"mass": np.zeros((2, 1))}, "mass"),
    ],
)
def test_info_must_have_exactly_the_declared_keys(info: Any, key: str) -> None:
    buffer = two_lane_buffer()
    with pytest.raises(WoodshedError, match=key) as error:
        buffer.add(**two_lanes(info=info))
    refused(error)
    assert len(buffer) == 0


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_an_observation_must_have_the_keys_of_its_space(change: str) -> None:
    buffer = make(space=GOAL_POSITION)
    arguments = step(0, 1, goal=5)
    if change == "missing":
        del arguments["next_observation"]["desired_goal"]
    else:
        arguments["next_observation"]["colour"] = np.zeros((1, 1))
    with pytest.raises(WoodshedError, match=r"desired_goal|colour") as error:
        buffer.add(**arguments)
    refused(error)
    assert len(buffer) == 0


def test_an_observation_that_does_not_continue_its_episode() -> None:
    buffer = two_lane_buffer()
    buffer.add(**two_lanes())
    with pytest.raises(WoodshedError, match=r"is not the next_observation.*cut\(\)") as error:
        buffer.add(**two_lanes(observation=np.array([[1.0], [12.0]])))
    assert "1" in refused(error)
    assert len(buffer) == 2
    buffer.cut(np.array([False, True]))
    buffer.add(**two_lanes(observation=np.array([[1.0], [12.0]])))
    assert len(buffer) == 4


def test_a_refused_add_changes_nothing() -> None:
    """The same history with and without refused calls gives the same batches."""
    plain, tried = two_lane_buffer(seed=5, n_step=2), two_lane_buffer(seed=5, n_step=2)
    onward = two_lanes(
        observation=np.array([[1.0], [11.0]]), next_observation=np.array([[2.0], [12.0]])
    )
    for arguments in (two_lanes(), onward):
        for field, value in BAD + SHAPES:
            with pytest.raises(WoodshedError):
                tried.add(**arguments | {field: value})
        with pytest.raises(WoodshedError):
            tried.add(**arguments | {"info": {"mass": np.array([1.0, np.nan])}})
        plain.add(**arguments)
        tried.add(**arguments)
        assert len(tried) == len(plain)
    left, right = plain.sample(100), tried.sample(100)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sampling_needs_something_to_sample() -> None:
    buffer = make()
    with pytest.raises(WoodshedError) as error:
        buffer.sample(4)
    refused(error)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"capacity": 0}, "capacity"),
        ({"capacity": 10**13}, r"(?i)memory"),
        ({"n_envs": 0}, "n_envs"),
        ({"n_step": 0}, "n_step"),
        ({"n_step": (0, 3)}, "n_step"),
        ({"n_step": (5, 2)}, "n_step"),
        ({"gamma": 1.5}, "gamma"),
        ({"gamma": -0.1}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"float_dtype": np.int32}, "float_dtype"),
        ({"space": spaces.Text(5)}, r"Text"),
        ({"space": spaces.Tuple([POSITION])}, r"Tuple"),
    ],
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], names: str) -> None:
    with pytest.raises(WoodshedError, match=names) as error:
        make(**options)
    refused(error)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"strategy": "futur"}, "futur.*future"),
        ({"k": -1.0}, r"\bk\b"),
        ({"k": float("nan")}, r"\bk\b"),
    ],
)
def test_hindsight_without_a_meaning_is_refused(change: dict[str, Any], names: str) -> None:
    options: dict[str, Any] = {"strategy": "future", "compute_reward": minus_one_away}
    options |= change
    with pytest.raises(WoodshedError, match=names) as error:
        make(space=GOAL_POSITION, hindsight=Hindsight(**options))
    refused(error)


PLANE = spaces.Box(-1, 1, (2,), np.float32)
WHOLE = spaces.Box(-9, 9, (1,), np.int32)


@pytest.mark.parametrize(
    "space",
    [
        POSITION,
        spaces.Dict({"observation": POSITION, "achieved_goal": POSITION}),
        spaces.Dict({"observation": POSITION, "desired_goal": POSITION}),
        spaces.Dict({"achieved_goal": POSITION, "desired_goal": PLANE}),
        spaces.Dict({"achieved_goal": POSITION, "desired_goal": WHOLE}),
    ],
)
def test_hindsight_needs_goals(space: Any) -> None:
    hindsight = Hindsight("future", compute_reward=minus_one_away, compute_terminated=at_goal)
    with pytest.raises(WoodshedError, match=r"achieved_goal|desired_goal") as error:
        make(space=space, hindsight=hindsight)
    refused(error)
