"""Lanes in workers play, bit for bit, what lanes in this process play."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.envs.toys import Counting, pendulum, point_reach, record, wandering

from woodshed.envs import EnvironmentFactory, InProcessVector, WorkerVector
from woodshed.errors import WoodshedError

SEED = 7


@pytest.mark.parametrize(
    ("make", "info_keys", "lanes", "workers"),
    [
        (wandering, ("height", "pair"), 5, 2),
        (pendulum, (), 2, 1),
        (point_reach, ("is_success",), 3, 3),
    ],
)
def test_workers_play_what_the_in_process_vector_plays(
    make: EnvironmentFactory, info_keys: tuple[str, ...], lanes: int, workers: int
) -> None:
    ours = record(InProcessVector([make] * lanes, SEED, info_keys), 40)
    vector = WorkerVector([make] * lanes, SEED, info_keys, workers=workers)
    try:
        assert record(vector, 40) == ours
    finally:
        vector.close()


@pytest.mark.skipif(find_spec("gymnasium_robotics") is None, reason="needs gymnasium-robotics")
def test_fetch() -> None:
    ours = InProcessVector(["FetchReach-v4"] * 2, SEED, ("is_success",))
    theirs = WorkerVector(["FetchReach-v4"] * 2, SEED, ("is_success",), workers=2)
    try:
        assert record(theirs, 60) == record(ours, 60)
    finally:
        theirs.close()
        ours.close()


def test_numbers_of_episodes_and_beginnings() -> None:
    envs = [wandering] * 3
    ours = InProcessVector(envs, SEED, first_episodes=[0, 4, 2])
    theirs = WorkerVector(envs, SEED, first_episodes=[0, 4, 2], workers=2)
    try:
        assert theirs.n_envs == 3
        assert theirs.observation_space == ours.observation_space
        assert theirs.action_space == ours.action_space
        mask = np.array([True, False, True])
        calls: list[Callable[[Any], Any]] = [
            lambda vector: vector.reset(),
            lambda vector: vector.begin(mask),
            lambda vector: vector.begin(~mask),
            lambda vector: vector.reset(first_episode=9),
            lambda vector: vector.begin(np.zeros(3, np.bool_)),
        ]
        for call in calls:
            assert theirs.episodes.tolist() == ours.episodes.tolist()
            one, other = call(theirs), call(ours)
            np.testing.assert_equal(one, other)
        for _ in range(20):
            step, other = theirs.step(np.ones((3, 2))), ours.step(np.ones((3, 2)))
            np.testing.assert_equal(step._asdict(), other._asdict())
            assert theirs.episodes.tolist() == ours.episodes.tolist()
    finally:
        theirs.close()


def test_returned_arrays_are_the_callers_own_and_sent_ones_a_copy() -> None:
    vector = WorkerVector([wandering], SEED, ("pair",), workers=1)
    try:
        first: Any = vector.reset()
        action = np.zeros((1, 2), np.float32)
        vector.send(action)
        action[:] = 1
        one: Any = vector.receive()
        arrays = [first["position"], one.next_observation["position"], one.reward]
        arrays += [one.observation["inner"]["speed"], one.info["pair"], one.success]
        before = [array.copy() for array in arrays]
        vector.step(action)
        for array, copy in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)
    finally:
        vector.close()
    reference = InProcessVector([wandering], SEED, ("pair",))
    reference.reset()
    np.testing.assert_equal(reference.step(np.zeros((1, 2)))._asdict(), one._asdict())


def test_what_is_refused_is_refused_in_the_same_words() -> None:
    class Forgetful(Counting):
        def step(self, action: Any) -> Any:
            *rest, info = super().step(action)
            return *rest, info | ({"height": 1.0} if action[0] == 0 else {})

    def message(vector: Any, call: Callable[[Any], Any]) -> str:
        with pytest.raises(WoodshedError) as caught:
            call(vector)
        return str(caught.value)

    calls: list[Callable[[Any], Any]] = [
        lambda vector: vector.receive(),
        lambda vector: vector.step(np.zeros((3, 1))),
        lambda vector: vector.step(np.zeros((2, 2))),
        lambda vector: vector.step(np.zeros((2, 1), np.complex64)),
        lambda vector: vector.step(np.array([[0], [1]])),  # lane 1 forgets the key
        lambda vector: vector.remake([0], [np.zeros((0, 1))] * 2),
        lambda vector: (vector.send(np.zeros((2, 1))), vector.send(np.zeros((2, 1)))),
        lambda vector: vector.begin(np.ones(2, np.bool_)),
    ]
    envs: list[EnvironmentFactory] = [Forgetful, Forgetful]
    ours, theirs = (
        InProcessVector(envs, 0, ("height",)),
        WorkerVector(envs, 0, ("height",), workers=2),
    )
    try:
        with pytest.raises(WoodshedError, match="reset the environments before"):
            theirs.send(np.zeros((2, 1)))
        ours.reset()
        theirs.reset()
        for call in calls:
            assert message(theirs, call) == message(ours, call)
        theirs.reset()  # drops what was sent
        assert theirs.step(np.zeros((2, 1))).info["height"].tolist() == [1, 1]
    finally:
        theirs.close()
    with pytest.raises(WoodshedError, match="the environments are closed"):
        theirs.reset()


def test_info_of_two_shapes_is_refused() -> None:
    def told(shape: int) -> EnvironmentFactory:
        class Telling(Counting):
            def step(self, action: Any) -> Any:
                return *super().step(action)[:4], {"word": np.zeros(shape)}

        return Telling

    vector = WorkerVector([told(1), told(2)], 0, ("word",), workers=2)
    try:
        vector.reset()
        with pytest.raises(WoodshedError, match="info key 'word' must hold numbers of one shape"):
            vector.step(np.zeros((2, 1)))
    finally:
        vector.close()


def test_unequal_spaces_are_refused() -> None:
    class Wide(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = gymnasium.spaces.Box(-2, 2, (1,), np.float32)

    with pytest.raises(WoodshedError, match=r"action_space of lane 0 is .* lane 1 is Box\(-2"):
        WorkerVector([Counting, Wide], 0, workers=2)
