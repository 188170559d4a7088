"""Stacks of frames of every kind of observation, and settings of them that are refused."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.replay.line import GOAL_POSITION, POSITION

from woodshed.errors import WoodshedError
from woodshed.replay import FrameStack, ReplayBuffer


def write(buffer: ReplayBuffer, frames: list[Any]) -> None:
    """One open episode of these observations, one lane."""
    for here, there in pairwise(frames):
        buffer.add(
            observation=_lane(here),
            action=np.zeros((1, 1)),
            reward=np.zeros(1),
            terminated=np.zeros(1, bool),
            truncated=np.zeros(1, bool),
            next_observation=_lane(there),
        )


def _lane(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _lane(leaf) for key, leaf in tree.items()}
    return np.asarray(tree)[None]


LEAVES: list[tuple[tuple[int, ...], Any]] = [
    ((3, 3, 1), np.uint8),
    ((5,), np.uint8),
    ((), np.uint8),
    ((4, 4, 3), np.uint8),
    ((84, 84), np.uint8),
    ((3,), np.int16),
    ((2, 3), np.float32),
    ((3,), np.float64),
]


@pytest.mark.parametrize("padding", ["repeat", "zero"])
@pytest.mark.parametrize(("shape", "dtype"), LEAVES)
def test_every_number_of_every_frame(shape: tuple[int, ...], dtype: Any, padding: Any) -> None:
    """Nine rows in a ring of six, of which every number is another."""
    space = spaces.Box(0, 255, shape, dtype)
    floats = dtype if dtype is np.float64 else np.float32
    frame_stack = FrameStack(3, padding)
    buffer = ReplayBuffer(space, POSITION, 5, frames=frame_stack, float_dtype=floats, n_step=2)
    generator = np.random.default_rng(5)
    frames = [generator.uniform(0, 255, shape).astype(dtype) for _ in range(9)]
    zero = np.zeros(shape, dtype)
    for begin, written, sampleable in ((0, 2, {0}), (1, 3, {0, 1}), (2, 9, {5, 6, 7})):
        write(buffer, frames[begin:written])
        batch = buffer.sample(60)
        here, there = np.asarray(batch.observation), np.asarray(batch.next_observation)
        assert here.shape == there.shape == (60, 3, *shape)
        assert here.dtype == there.dtype == dtype
        assert set(batch.handle.tolist()) == sampleable
        for i, handle in enumerate(batch.handle.tolist()):
            after = min(handle + 2, written - 1)
            for stack, newest in ((here[i], handle), (there[i], after)):
                for place, number in enumerate(range(newest - 2, newest + 1)):
                    first = frames[0] if padding == "repeat" else zero
                    frame = first if number < 0 else frames[number]
                    np.testing.assert_array_equal(stack[place], frame)


def test_a_discrete_observation_is_stacked_too() -> None:
    buffer = ReplayBuffer(spaces.Discrete(50), POSITION, 9, frames=FrameStack(2, "zero"))
    write(buffer, [7, 8, 9])
    batch = buffer.sample(50)
    stacks = {
        handle: stack.tolist()
        for handle, stack in zip(batch.handle.tolist(), np.asarray(batch.observation), strict=True)
    }
    assert stacks == {0: [0, 7], 1: [7, 8]}


CAMERAS = spaces.Dict(
    {
        "camera": spaces.Dict(
            {
                "left": spaces.Box(0, 255, (5,), np.uint8),
                "right": spaces.Box(0, 255, (5,), np.uint8),
            }
        ),
        "speed": spaces.Box(-9, 9, (2,), np.float32),
    }
)


def cameras(number: int) -> Any:
    left, right = (np.arange(5, dtype=np.uint8) + 10 * number + side for side in (0, 100))
    return {"camera": {"left": left, "right": right}, "speed": np.array([number, -number], "f4")}


@pytest.mark.parametrize(
    ("keys", "left", "right", "speed"),
    [
        (None, True, True, True),
        (("camera/left",), True, False, False),
        (("camera/right", "speed"), False, True, True),
        (("speed",), False, False, True),
    ],
)
def test_nested_keys(keys: Any, left: bool, right: bool, speed: bool) -> None:
    buffer = ReplayBuffer(CAMERAS, POSITION, 9, frames=FrameStack(2, keys=keys))
    write(buffer, [cameras(number) for number in range(4)])
    batch = buffer.sample(40)
    sequences = buffer.sample_sequences(40, length=1)
    for tree, numbers in (
        (batch.observation, batch.handle),
        (batch.next_observation, batch.handle + 1),
        (sequences.observation, sequences.handle[:, None] + np.arange(2)),
    ):
        observation: Any = tree
        for name, leaf, stacked in (
            ("left", observation["camera"]["left"], left),
            ("right", observation["camera"]["right"], right),
            ("speed", observation["speed"], speed),
        ):
            for index in np.ndindex(numbers.shape):
                newest = int(numbers[index])
                shown = [_leaf(name, max(newest - 1, 0)), _leaf(name, newest)]
                np.testing.assert_array_equal(leaf[index], np.stack(shown) if stacked else shown[1])


def _leaf(name: str, number: int) -> Any:
    observation = cameras(number)
    return observation["speed"] if name == "speed" else observation["camera"][name]


def test_goals_stay_single_and_other_keys_are_stacked() -> None:
    buffer = ReplayBuffer(GOAL_POSITION, POSITION, 9, frames=FrameStack(4))
    observation: Any = buffer.blank(3).observation
    shapes = {key: leaf.shape for key, leaf in observation.items()}
    assert shapes == {"observation": (3, 4, 1), "achieved_goal": (3, 1), "desired_goal": (3, 1)}


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
def test_a_k_without_a_meaning_is_refused(k: Any) -> None:
    with pytest.raises(WoodshedError, match="k is") as error:
        FrameStack(k)
    assert "\n" not in str(error.value)


def test_an_unknown_padding_is_refused() -> None:
    with pytest.raises(WoodshedError, match="mirror") as error:
        FrameStack(2, "mirror")  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("space", "keys", "names"),
    [
        (CAMERAS, ("camera/middle",), "camera/middle"),
        (CAMERAS, ("left",), "left"),
        (CAMERAS, ("speed", "depth"), "depth"),
        (GOAL_POSITION, ("achieved_goal",), "achieved_goal"),
        (GOAL_POSITION, ("observation", "desired_goal"), "desired_goal"),
        (POSITION, ("observation",), "observation"),
    ],
)
def test_keys_that_cannot_be_stacked_are_refused(space: Any, keys: Any, names: str) -> None:
    with pytest.raises(WoodshedError, match=names) as error:
        ReplayBuffer(space, POSITION, 9, frames=FrameStack(2, keys=keys))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("capacity", "n_envs", "k"), [(2, 1, 3), (1, 1, 2), (6, 3, 3), (12, 4, 4)])
def test_a_lane_smaller_than_the_stack_is_refused(capacity: int, n_envs: int, k: int) -> None:
    with pytest.raises(WoodshedError, match=rf"\b{k}\b") as error:
        ReplayBuffer(POSITION, POSITION, capacity, n_envs=n_envs, frames=FrameStack(k))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("capacity", "n_envs", "k"), [(3, 1, 3), (1, 1, 1), (7, 3, 3), (13, 4, 4)])
def test_a_lane_as_large_as_the_stack_will_do(capacity: int, n_envs: int, k: int) -> None:
    buffer = ReplayBuffer(POSITION, POSITION, capacity, n_envs=n_envs, frames=FrameStack(k))
    assert np.asarray(buffer.blank(1).observation).shape == (1, k, 1)
