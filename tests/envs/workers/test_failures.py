"""What each way of failing costs and says."""

import os
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.envs.workers.faulty import NUMBERS, Faulty, actions, is_gone, made_once

from woodshed.envs import (
    EnvironmentFailedError,
    InProcessVector,
    WorkerVector,
    episode_seed,
)
from woodshed.errors import WoodshedError

SEED = 3
SUMMARIES = {
    "raise": "RuntimeError: the motor is on fire",
    "no arguments": "KeyError",
    "unspeakable": "UnspeakableError: (its message cannot be read: ValueError)",
    "not picklable": "LockedError: holds a lock",
    "system exit": "SystemExit: 4",
    "interrupt": "KeyboardInterrupt",
    "exit": "exit code 3",
    "kill": "killed by SIGKILL",
    "segfault": "killed by SIGSEGV",
    "fork": "killed by SIGKILL",
    "hang": "no answer within 2 s",
}
REPORTS = {
    "raise": "raise error\nRuntimeError: the motor is on fire",
    "exit": "the simulator says goodbye",
    "segfault": "Fatal Python error: Segmentation fault",
    "hang": "in hang",
}


def test_every_failure_costs_its_worker_one_episode_and_no_other_lane(tmp_path: Path) -> None:
    assert SUMMARIES.keys() | {"none"} == NUMBERS.keys()
    vector = WorkerVector(
        [Faulty] * 3, SEED, ("pid", "height"), workers=2, step_timeout=2.0, log_folder=tmp_path
    )
    other = InProcessVector([Faulty], SEED, ("height",), first_lane=2)
    first: Any = vector.reset()
    np.testing.assert_array_equal(first[2:], other.reset())
    try:
        for fault, summary in SUMMARIES.items():
            before = vector.episodes
            pids = vector.step(actions(3)).info["pid"]
            other.step(actions(1))

            step: Any = vector.step(actions(3, {1: fault}, push=0.5))

            assert step.cut.tolist() == [True, True, False], fault
            assert step.stepped.tolist() == [False, False, True]
            (failure,) = step.failures
            assert (failure.worker, failure.lanes, failure.summary) == (0, (0, 1), summary)
            assert REPORTS.get(fault, summary.partition(":")[0]) in failure.report
            assert (vector.episodes[:2] == before[:2] + 1).all()
            begun = InProcessVector([Faulty] * 2, SEED, first_episodes=vector.episodes[:2].tolist())
            np.testing.assert_array_equal(step.observation[:2], begun.reset())
            np.testing.assert_array_equal(step.next_observation[:2], step.observation[:2])
            assert step.reward[:2].tolist() == [0, 0]
            assert not (step.terminated | step.truncated)[:2].any()
            assert step.info["height"][:2].tolist() == [0, 0]
            assert is_gone(int(pids[0]))

            expected: Any = other.step(actions(1, push=0.5))
            for name in ("next_observation", "observation", "reward", "terminated", "success"):
                np.testing.assert_array_equal(getattr(step, name)[2:], getattr(expected, name))
            assert step.info["height"][2:].tobytes() == expected.info["height"].tobytes()
        for pid in vector.step(actions(3)).info["pid"].tolist():
            os.kill(pid, signal.SIGINT)  # is the parent's to heed
        step = vector.step(actions(3))
        assert step.stepped.all()
        assert not step.cut.any()
        assert step.failures == ()
    finally:
        vector.close()
    assert all(is_gone(int(pid)) for pid in step.info["pid"])
    assert "goodbye" in (tmp_path / "worker-0.log").read_text()
    assert (tmp_path / "worker-1.log").read_text() == ""


def test_failures_in_a_reset_are_tried_again_with_the_next_episode() -> None:
    bad = {
        episode_seed(SEED, 0, 0): "raise",
        episode_seed(SEED, 0, 1): "kill",
        episode_seed(SEED, 2, 6): "exit",
    }
    vector = WorkerVector([lambda: Faulty(3, bad)] * 3, SEED, ("height",), workers=2)
    try:
        first: Any = vector.reset()
        # Lane 1 went on with lane 0, whose worker it shares.
        assert vector.episodes.tolist() == [2, 2, 0]
        fresh = InProcessVector([Faulty] * 3, SEED, first_episodes=[2, 2, 0])
        np.testing.assert_array_equal(first, fresh.reset())
        step = vector.step(actions(3))
        assert [f.summary for f in step.failures] == [
            "RuntimeError: the motor is on fire",
            "killed by SIGKILL",
        ]
        assert step.stepped.all()
        assert not step.cut.any()

        # The episode before ends, and the failure is in the reset that follows in the same step.
        vector.reset(first_episode=5)
        for _ in range(2):
            assert vector.step(actions(3)).stepped.all()
        step = vector.step(actions(3))
        assert step.cut.tolist() == [False, False, True]
        assert step.terminated.tolist() == [True, True, False]
        assert [f.summary for f in step.failures] == ["exit code 3"] * 2
        assert vector.episodes.tolist() == [6, 6, 7]
    finally:
        vector.close()


def test_a_failed_beginning_cuts_the_other_lanes_of_its_worker_with_the_next_step() -> None:
    bad = {episode_seed(SEED, 0, 1): "raise"}
    vector = WorkerVector([lambda: Faulty(9, bad)] * 3, SEED, ("height",), workers=2)
    try:
        vector.reset()
        begun: Any = vector.begin(np.array([True, False, False]))
        assert vector.episodes.tolist() == [2, 1, 0]
        fresh: Any = InProcessVector([Faulty] * 3, SEED, first_episodes=[2, 1, 0]).reset()
        np.testing.assert_array_equal(begun, [fresh[0], [0, 0], [0, 0]])
        step: Any = vector.step(actions(3))
        assert step.stepped.tolist() == [False, False, True]
        assert step.cut.tolist() == [False, True, False]
        np.testing.assert_array_equal(step.observation[:2], fresh[:2])
        assert len(step.failures) == 1
        step = vector.step(actions(3))
        assert step.stepped.all()
        assert not step.cut.any()
    finally:
        vector.close()


def test_a_failed_episode_is_played_again_where_that_is_asked_for() -> None:
    vector = WorkerVector([Faulty] * 2, SEED, workers=1, repeat_failed=True)
    try:
        first: Any = vector.reset()
        vector.step(actions(2))
        step: Any = vector.step(actions(2, {0: "raise"}))
        assert vector.episodes.tolist() == [0, 0]
        assert step.cut.tolist() == [True, True]
        np.testing.assert_array_equal(step.observation, first)
    finally:
        vector.close()


def test_the_same_failure_too_often_in_a_row_is_an_error() -> None:
    vector = WorkerVector([lambda: Faulty(2)] * 2, SEED, ("pid",), workers=2, max_failures=2)
    try:
        vector.reset()
        vector.step(actions(2, {1: "raise"}))
        vector.step(actions(2, {1: "exit"}))  # another one
        vector.step(actions(2))
        pids = vector.step(actions(2)).info["pid"]  # lane 1's episode ends
        vector.step(actions(2, {1: "exit"}))
        with pytest.raises(
            EnvironmentFailedError,
            match=r"(?s)^worker 1 \(environment 1\) failed 2 times in a row: "
            r"exit code 3\n.*goodbye$",
        ) as caught:
            vector.step(actions(2, {1: "exit"}))
        # The failures before were told of by the steps they were in.
        assert [f.summary for f in caught.value.failures] == ["exit code 3"]
        assert all(is_gone(int(pid)) for pid in pids)
        with pytest.raises(WoodshedError, match="the environments are closed"):
            vector.step(actions(2))
        assert vector.episodes.tolist() == [3, 4]
    finally:
        vector.close()


def test_the_error_has_all_failures_that_no_step_told_of() -> None:
    bad = {episode_seed(SEED, 0, episode): fault for episode, fault in ((1, "kill"), (2, "raise"))}
    vector = WorkerVector([lambda: Faulty(9, bad)] * 2, SEED, workers=2, max_failures=2)
    vector.reset()
    vector.begin(np.array([True, False]))
    with pytest.raises(EnvironmentFailedError, match=r"^worker 0 .* failed 2 times") as caught:
        vector.step(actions(2, {0: "raise", 1: "exit"}))
    assert [(f.worker, f.summary) for f in caught.value.failures] == [
        (0, "killed by SIGKILL"),
        (0, "RuntimeError: the motor is on fire"),
        (0, "RuntimeError: the motor is on fire"),
        (1, "exit code 3"),
    ]
    assert pickle.loads(pickle.dumps(caught.value)).failures == caught.value.failures
    vector.close()


def test_a_reset_that_fails_in_ever_other_ways_ends_too() -> None:
    class Inventive(Faulty):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            assert seed is not None
            raise RuntimeError("x" * (seed % 97))

    vector = WorkerVector([Inventive], SEED, workers=1, max_failures=2)
    with pytest.raises(EnvironmentFailedError, match="failed 2 times in a row") as caught:
        vector.reset()
    summaries = [failure.summary for failure in caught.value.failures]
    assert len(set(summaries)) == len(summaries) == 3
    vector.close()


def test_what_cannot_be_made_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Faulty:
        raise ZeroDivisionError("in the user's code")

    def dying() -> Faulty:
        os.write(2, b"no licence\n")
        os._exit(7)

    with pytest.raises(
        EnvironmentFailedError,
        match=r"(?s)^worker 1 \(environments 2, 3\) failed once: ZeroDivisionError: in the "
        r"user's code\nTraceback.*in broken",
    ) as caught:
        WorkerVector([Faulty] * 2 + [broken] * 2, SEED, workers=2)
    assert [f.lanes for f in caught.value.failures] == [(2, 3)]
    with pytest.raises(EnvironmentFailedError, match=r"^worker 0 ") as caught:
        WorkerVector([broken] * 2, SEED, workers=2)
    assert [f.lanes for f in caught.value.failures] == [(0,), (1,)]
    with pytest.raises(EnvironmentFailedError, match=r"failed once: exit code 7\nno licence$"):
        WorkerVector([dying], SEED, workers=1)
    (tmp_path / "deadly_for_test_failures.py").write_text("import os; os._exit(5)")
    monkeypatch.syspath_prepend(tmp_path)

    def importing() -> Faulty:
        import deadly_for_test_failures  # type: ignore[import-not-found]

        return deadly_for_test_failures.make()  # type: ignore[no-any-return]

    with pytest.raises(EnvironmentFailedError, match=r"failed once: exit code 5$"):
        WorkerVector([importing], SEED, workers=1)
    with pytest.raises(WoodshedError, match=r"must return a gymnasium\.Env, got dict"):
        WorkerVector([dict], SEED, workers=1)  # type: ignore[list-item]


def test_a_worker_that_cannot_be_started_again(tmp_path: Path) -> None:
    once = made_once(tmp_path / "made")
    vector = WorkerVector([once], SEED, workers=1, max_failures=2)
    vector.reset()
    with pytest.raises(
        EnvironmentFailedError, match=r"(?s)failed 2 times in a row.*made before"
    ) as caught:
        vector.step(actions(1, {0: "exit"}))
    assert [failure.summary for failure in caught.value.failures] == [
        "exit code 3",
        *["RuntimeError: made before"] * 2,
    ]
    vector.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers is 0, expected 1 to 2"),
        ({"workers": 3}, "workers is 3, expected 1 to 2"),
        ({"workers": 1, "step_timeout": 0.0}, "step_timeout is 0.0"),
        ({"workers": 1, "step_timeout": float("nan")}, "step_timeout is nan"),
        ({"workers": 1, "max_failures": 0}, "max_failures is 0"),
        ({"workers": 1, "first_episodes": [1]}, "1 first episodes were given for 2 lanes"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(WoodshedError, match=message):
        WorkerVector([Faulty] * 2, SEED, **settings)
