"""Lanes are put back into episodes that were played before."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.envs.toys import wandering
from tests.envs.workers.faulty import Faulty, actions

from woodshed.envs import InProcessVector, SeededVector, WorkerVector

SEED = 5


class Slow(Faulty):
    """Each step takes a third of a second."""

    def step(self, action: Any) -> Any:
        import time

        time.sleep(1 / 3)
        return super().step(action)


def in_process(envs: list[Callable[[], gymnasium.Env[Any, Any]]]) -> SeededVector:
    return InProcessVector(envs, SEED)


def in_workers(envs: list[Callable[[], gymnasium.Env[Any, Any]]]) -> SeededVector:
    return WorkerVector(envs, SEED, workers=2)


@pytest.mark.parametrize("make", [in_process, in_workers])
def test_an_episode_goes_on_where_it_was(make: Any) -> None:
    played = InProcessVector([wandering] * 3, SEED)
    taken = np.random.default_rng(1).uniform(-1, 1, (40, 3, 2)).astype(np.float32)
    observation = played.reset()
    episodes: list[Any] = [{"observation": [], "reward": [], "action": []} for _ in range(3)]
    for action in taken[:30]:
        step: Any = played.step(action)
        for lane, ended in enumerate(step.terminated | step.truncated):
            episode = episodes[lane]
            if ended:
                episode = episodes[lane] = {"observation": [], "reward": [], "action": []}
                continue
            position: Any = observation
            episode["observation"].append(position["position"][lane])
            episode["reward"].append(step.reward[lane])
            episode["action"].append(action[lane])
        observation = step.observation
    assert sorted(len(episode["action"]) for episode in episodes)[-1] > 1

    vector = make([wandering] * 3)
    remade = vector.remake(
        played.episodes.tolist(),
        [np.array(episode["action"]).reshape(-1, 2) for episode in episodes],
    )
    now: Any = observation
    for lane, (got, episode) in enumerate(zip(remade, episodes, strict=True)):
        assert not got.ended
        assert got.reward.tolist() == episode["reward"]
        assert got.observation["inner"]["kind"].dtype == np.int64
        expected = [*episode["observation"], now["position"][lane]]
        np.testing.assert_array_equal(got.observation["position"], expected)
    assert vector.episodes.tolist() == played.episodes.tolist()
    for action in taken[30:]:
        np.testing.assert_equal(vector.step(action)._asdict(), played.step(action)._asdict())
    vector.close()


@pytest.mark.parametrize("make", [in_process, in_workers])
def test_an_episode_that_ended_is_begun_by_hand(make: Any) -> None:
    vector = make([lambda: Faulty(3)] * 3)
    remade = vector.remake([4, 2, 0], [actions(5), actions(3), actions(2)])
    assert [one.ended for one in remade] == [True, True, False]
    assert [len(one.reward) for one in remade] == [3, 3, 2]
    assert [len(one.observation) for one in remade] == [4, 4, 3]
    first = vector.begin(np.array([True, True, False]))
    assert vector.episodes.tolist() == [5, 3, 0]
    fresh: Any = InProcessVector([Faulty] * 3, SEED, first_episodes=[5, 3, 0]).reset()
    np.testing.assert_array_equal(first, [fresh[0], fresh[1], [0, 0]])
    assert vector.step(actions(3)).terminated.tolist() == [False, False, True]
    vector.close()


def test_what_an_environment_raises_comes_through_in_process() -> None:
    with pytest.raises(RuntimeError, match="on fire"):
        in_process([Faulty]).remake([0], [actions(1, {0: "raise"})])


def test_a_worker_that_fails_gives_none_and_its_lanes_begin() -> None:
    vector = in_workers([Faulty] * 3)
    try:
        remade = vector.remake([3, 1, 2], [actions(2), actions(2, {1: "kill"}), actions(1)])
        assert remade[:2] == [None, None]
        assert remade[2] is not None
        vector.begin(np.array([True, True, False]))
        assert vector.episodes.tolist() == [4, 2, 2]
        step = vector.step(actions(3))
        assert step.stepped.all()
        assert not step.cut.any()
        assert [f.summary for f in step.failures] == ["killed by SIGKILL"]
    finally:
        vector.close()


def test_the_time_is_for_each_step() -> None:
    vector = WorkerVector([Slow, lambda: Faulty(99)], SEED, workers=2, step_timeout=1.5)
    try:
        remade = vector.remake([0, 0], [actions(5), actions(6, {5: "hang"})])
        assert remade[0] is not None
        assert remade[1] is None
        assert vector.begin(np.array([False, True])) is not None
        assert vector.step(actions(2)).failures[0].summary == "no answer within 1.5 s"
    finally:
        vector.close()
