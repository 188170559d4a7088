"""Environments that fail in worker processes, seen from a training run."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.training.alike import metrics_of
from tests.training.line import Failing, Line
from tests.training.tasks import small_settings

from woodshed.envs import EnvironmentFailedError
from woodshed.files import read_arrays
from woodshed.training import resume, train
from woodshed.training.checkpoint import read_checkpoint
from woodshed.training.checkpoint_folder import newest_checkpoint


def test_a_failure_costs_one_episode_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "traps").mkdir()
    for step in (30, 75):
        (tmp_path / "traps" / str(step)).touch()
    result = train(
        lambda: Failing(tmp_path / "traps"),
        small_settings(n_envs=2, workers=2, steps=200, evaluate_every=0),
        tmp_path / "run",
    )
    assert not result.interrupted
    assert result.env_steps in (200, 201)
    assert metrics_of(tmp_path / "run")[-1]["failures"] == 2
    log = (tmp_path / "run" / "failures.log").read_text()
    assert log.count("RuntimeError: the motor is on fire\n") >= 2
    assert "in step" in log  # the traceback
    about = json.loads((newest_checkpoint(tmp_path / "run") / "replay/replay.json").read_text())
    assert about["written"] == result.env_steps


def test_a_failure_again_and_again_ends_the_run_with_all_saved(tmp_path: Path) -> None:
    (tmp_path / "traps").mkdir()
    (tmp_path / "traps" / "15").touch()
    settings = small_settings(
        n_envs=2, workers=2, steps=200, evaluate_every=0, learning_starts=10, max_failures=2
    )
    with pytest.raises(EnvironmentFailedError, match=r"(?s)2 times in a row.*the motor is on fire"):
        train(lambda: Failing(tmp_path / "traps", always=True), settings, tmp_path / "run")
    assert "the motor is on fire" in (tmp_path / "run" / "failures.log").read_text()
    assert json.loads((tmp_path / "run" / "result.json").read_text())["interrupted"]
    read_arrays(tmp_path / "run" / "policy-last" / "policy.npz")
    kept = read_checkpoint(newest_checkpoint(tmp_path / "run")).about.progress
    assert kept.env_steps > 30
    (tmp_path / "traps" / "15").unlink()
    assert resume(tmp_path / "run", env=lambda: Failing(tmp_path / "traps")).env_steps >= 200


def test_an_evaluation_plays_the_episode_of_a_killed_worker_again(tmp_path: Path) -> None:
    """The environment kills its own process in the evaluation, once."""

    class Dying(Line):
        def step(self, action: Any) -> Any:
            if len(self.seen_actions) == 12 and (tmp_path / "die").exists():
                (tmp_path / "die").unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().step(action)

    settings = small_settings(
        n_envs=1, workers=1, steps=11, learning_starts=10, evaluate_every=0, final_episodes=3
    )
    (tmp_path / "die").touch()
    died = train(Dying, settings, tmp_path / "died")
    assert not (tmp_path / "die").exists()
    lived = train(Dying, settings, tmp_path / "lived")
    assert died.return_mean == lived.return_mean
    assert "killed by SIGKILL" in (tmp_path / "died" / "failures.log").read_text()
