"""Lanes are put back into episodes that were played before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.envs.toys import wandering
from tests.envs.workers.faulty import Faulty, actions, made_once

from woodshed.envs import (
    EnvironmentFailedError,
    InProcessVector,
    SeededVector,
    WorkerVector,
    episode_seed,
)
from woodshed.errors import WoodshedError

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


@pytest.mark.parametrize("how", ["step", "reset"])
def test_in_process_only_the_lane_whose_environment_raises_gives_none(how: str) -> None:
    bad = {episode_seed(SEED, 1, 4): "raise"} if how == "reset" else {}
    vector = in_process([lambda: Faulty(5, bad)] * 3)
    remade = vector.remake([3, 4, 5], [actions(2), actions(2, {1: "raise"}), actions(3)])
    assert [one and len(one.reward) for one in remade] == [2, None, 3]
    assert vector.episodes.tolist() == [3, 4, 5]
    vector.begin(np.array([False, True, False]))
    assert vector.episodes.tolist() == [3, 5, 5]
    reference = in_process([Faulty] * 3)
    reference.remake([3, 5, 5], [actions(2), actions(0), actions(3)])
    np.testing.assert_equal(vector.step(actions(3)), reference.step(actions(3)))


@pytest.mark.parametrize(
    ("fault", "error"), [("interrupt", KeyboardInterrupt), ("system exit", SystemExit)]
)
def test_what_is_no_failure_comes_through_in_process(
    fault: str, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        in_process([Faulty]).remake([0], [actions(1, {0: fault})])


def test_a_mistake_in_an_observation_comes_through() -> None:
    class Lying(Faulty):
        def reset(self, **_: Any) -> Any:
            return np.zeros(3), {}

    for make in (in_process, in_workers):
        vector = make([Faulty, Lying])
        with pytest.raises(WoodshedError, match="environment 1 gave observation"):
            vector.remake([0, 0], [actions(1), actions(1)])
        vector.close()


@pytest.mark.parametrize("make", [in_process, in_workers])
def test_a_lane_without_actions_is_left_alone_until_it_begins(make: Any) -> None:
    bad = {episode_seed(SEED, lane, episode): "exit" for lane, episode in ((0, 7), (2, 2))}
    vector = make([lambda: Faulty(5, bad)] * 3)  # lanes 0 and 1 share a worker
    try:
        remade = vector.remake([7, 1, 2], [None, actions(2), None])
        assert [one and len(one.reward) for one in remade] == [None, 2, None]
        assert vector.episodes.tolist() == [7, 1, 2]
        first = vector.begin(np.array([True, False, True]))
        assert vector.episodes.tolist() == [8, 1, 3]
        reference = in_process([Faulty] * 3)
        again: Any = reference.remake([8, 1, 3], [actions(0), actions(2), actions(0)])
        np.testing.assert_array_equal(
            first, [again[0].observation[0], [0, 0], again[2].observation[0]]
        )
        step = vector.step(actions(3))
        assert step.failures == ()
        np.testing.assert_equal(step, reference.step(actions(3)))
    finally:
        vector.close()


def test_a_worker_that_cannot_be_started_again_tells_of_what_failed_in_it(tmp_path: Path) -> None:
    once = made_once(tmp_path / "made")
    vector = WorkerVector([once], SEED, workers=1, max_failures=2)
    with pytest.raises(EnvironmentFailedError) as caught:
        vector.remake([0], [actions(1, {0: "kill"})])
    assert [failure.summary for failure in caught.value.failures] == [
        "killed by SIGKILL",
        *["RuntimeError: made before"] * 2,
    ]
    vector.close()


@pytest.mark.parametrize("fault", ["kill", "raise"])
def test_a_worker_that_fails_gives_none_and_its_lanes_begin(fault: str) -> None:
    vector = in_workers([Faulty] * 3)
    try:
        remade = vector.remake([3, 1, 2], [actions(2), actions(2, {1: fault}), actions(1)])
        assert remade[:2] == [None, None]
        assert remade[2] is not None
        vector.begin(np.array([True, True, False]))
        assert vector.episodes.tolist() == [4, 2, 2]
        step = vector.step(actions(3))
        assert step.stepped.all()
        assert not step.cut.any()
        expected = {"kill": "killed by SIGKILL", "raise": "RuntimeError: the motor is on fire"}
        assert [f.summary for f in step.failures] == [expected[fault]]
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
