"""A run that was stopped and resumed is the run that was never stopped."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.alike import assert_same_run, metrics_of
from tests.training.line import Line
from tests.training.tasks import REACH, run, settings_of, small_settings

from woodshed.algorithms import SAC
from woodshed.errors import WoodshedError
from woodshed.training import resume, train
from woodshed.training.reporter import LineReporter
from woodshed.training.run_folder import only_trainer, read_settings

STEPS = 240


@pytest.mark.parametrize("n_envs", [1, 4])
@pytest.mark.parametrize("half", [60, 120, 132])  # learning begins at 50; 132: between reports
def test_stopped_at_half_and_resumed(tmp_path: Path, n_envs: int, half: int) -> None:
    changes = {"n_envs": n_envs, "evaluate_every": 60, "updates_per_step": 0.75}
    run(tmp_path / "whole", steps=STEPS, **changes)
    run(tmp_path / "parts", steps=half, **changes)
    result = resume(tmp_path / "parts", settings_of(tmp_path / "parts", steps=STEPS))
    assert result.env_steps == STEPS
    assert_same_run(tmp_path / "whole", tmp_path / "parts", REACH)


def test_many_short_pieces(tmp_path: Path) -> None:
    """The settings stay as they are, and so do intervals: 5 resumes in a row."""
    changes = {"log_every": 35, "evaluate_every": 55, "checkpoint_every": 45, "n_step": (1, 3)}
    run(tmp_path / "whole", steps=300, **changes)
    run(tmp_path / "parts", steps=70, **changes)
    first = read_settings(tmp_path / "parts")[1]
    for steps in (102, 150, 152, 210, 300):
        resume(tmp_path / "parts", settings_of(tmp_path / "parts", steps=steps))
    assert settings_of(tmp_path / "parts", steps=70) == first
    assert_same_run(tmp_path / "whole", tmp_path / "parts", REACH)
    lines = (tmp_path / "parts" / "resumes.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["changed"] == {"steps": [70, 102]}
    assert len(lines) == 5


class Stopping(Line):
    """Asks the process to stop, once, in the step whose number the file holds."""

    def __init__(self, file: Path) -> None:
        super().__init__(length=30)
        self.file = file

    def step(self, action: Any) -> Any:
        if self.file.exists() and len(self.seen_actions) == int(self.file.read_text()):
            self.file.unlink()
            os.kill(os.getpid(), signal.SIGTERM)
        return super().step(action)


@pytest.mark.parametrize("seed", range(4))
def test_sigterm_at_a_random_step(tmp_path: Path, seed: int) -> None:
    settings = small_settings(n_envs=2, steps=STEPS, evaluate_every=60, seed=seed)
    file = tmp_path / "stop"
    train(lambda: Stopping(file), settings, tmp_path / "whole")
    file.write_text(str(np.random.default_rng(seed).integers(5, STEPS // 2)))
    stopped = train(lambda: Stopping(file), settings, tmp_path / "parts")
    assert stopped.interrupted
    assert stopped.env_steps < STEPS
    resume(tmp_path / "parts", env=lambda: Stopping(file))
    assert_same_run(tmp_path / "whole", tmp_path / "parts", lambda: Stopping(file))


def test_a_stop_during_an_evaluation_gives_it_up_until_the_run_is_resumed(tmp_path: Path) -> None:
    settings = small_settings(n_envs=1, steps=STEPS, evaluate_every=100)
    file = tmp_path / "stop"
    make = lambda: Stopping(file)  # noqa: E731
    train(make, settings, tmp_path / "whole")
    # The environment of the evaluation is another one than that of the training: its own steps.
    file.write_text("25")

    class Counted(Stopping):
        made = 0

        def __init__(self, file: Path) -> None:
            super().__init__(file)
            Counted.made += 1
            self.mine = Counted.made == 3  # training, its reward function's, evaluation

        def step(self, action: Any) -> Any:
            return super().step(action) if self.mine else Line.step(self, action)

    stopped = train(lambda: Counted(file), settings, tmp_path / "parts")
    assert (stopped.interrupted, stopped.env_steps) == (True, 100)
    assert not any("evaluation/return" in line for line in metrics_of(tmp_path / "parts"))
    resume(tmp_path / "parts", env=make)
    assert_same_run(tmp_path / "whole", tmp_path / "parts", make)


def test_metrics_after_the_checkpoint_are_put_aside(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=200, checkpoint_every=100, keep_checkpoints=5)
    before = metrics_of(tmp_path / "run")
    checkpoints = sorted((tmp_path / "run" / "checkpoints").iterdir())
    assert [path.name for path in checkpoints] == ["0001-step-100", "0002-step-200"]
    resume(tmp_path / "run", checkpoint=checkpoints[0])
    assert metrics_of(tmp_path / "run") == before
    undone = (tmp_path / "run" / "metrics-undone.jsonl").read_text().splitlines()
    steps = [json.loads(line)["env_steps"] for line in undone]
    assert steps == [line["env_steps"] for line in before if line["env_steps"] >= 100]
    names = [path.name for path in sorted((tmp_path / "run" / "checkpoints").iterdir())]
    assert names == ["0001-step-100", "0002-step-200", "undone"]


def test_an_environment_that_does_not_repeat_itself_begins_a_new_episode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Whimsical(Line):
        made = 0

        def reset(self, **options: Any) -> Any:
            Whimsical.made += 1
            observation, info = super().reset(**options)
            self.position = self.position + Whimsical.made
            return observation + Whimsical.made, info

    settings = small_settings(n_envs=2, steps=105, evaluate_every=0)
    train(lambda: Whimsical(length=30), settings, tmp_path / "run")
    result = resume(
        tmp_path / "run",
        settings_of(tmp_path / "run", steps=200),
        env=lambda: Whimsical(length=30),
        reporter=LineReporter(200),
    )
    assert result.env_steps == 200
    said = capsys.readouterr().out
    assert "environment 0 did not come back as it was (observation 0 of its" in said
    assert "environment 1 did not come back" in said
    record = json.loads((tmp_path / "run" / "resumes.jsonl").read_text())
    assert [line.split(" did")[0] for line in record["inexact"]] == [
        "environment 0",
        "environment 1",
    ]


@pytest.mark.parametrize("n_envs", [1, 5])
def test_another_number_of_environments(
    tmp_path: Path, n_envs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", steps=110, n_envs=3)
    settings = settings_of(tmp_path / "run", steps=203, n_envs=n_envs)
    result = resume(tmp_path / "run", settings, reporter=LineReporter(200))
    assert result.env_steps >= 203
    assert result.updates == result.env_steps - 50
    assert f"{n_envs} environments go on where 3 were" in capsys.readouterr().out
    assert read_settings(tmp_path / "run")[1] == settings
    settings = settings_of(tmp_path / "run", steps=230)
    assert resume(tmp_path / "run", settings).env_steps >= 230


def test_more_settings_can_change(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=100)
    settings = settings_of(
        tmp_path / "run",
        steps=200,
        batch_size=8,
        updates_per_step=2.0,
        gamma=0.9,
        n_step=(1, 3),
        hindsight="final",
        capacity=2_000,
        evaluate_every=70,
        log_every=20,
        workers=0,
    )
    result = resume(tmp_path / "run", settings)
    assert result.updates == 50 + 200  # the new ratio counts from here on
    assert read_settings(tmp_path / "run")[1] == settings


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"seed": 5}, "seed was 0 and cannot be changed to 5 in a resumed run"),
        ({}, r"is at its end: 100 of 100 steps are made; give more with --steps"),
        ({"normalise_observations": False, "steps": 200}, "normalise_observations was True"),
        ({"policy_keys": ("desired_goal", "observation"), "steps": 200}, "policy_keys was"),
        ({"info_keys": ("is_success",), "steps": 200}, "info_keys was"),
    ],
)
def test_what_cannot_be_resumed_says_why(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    run(tmp_path / "run", steps=100)
    before = (tmp_path / "run" / "settings.json").read_text()
    with pytest.raises(WoodshedError, match=expected):
        resume(tmp_path / "run", settings_of(tmp_path / "run", **changes))
    assert (tmp_path / "run" / "settings.json").read_text() == before


def test_other_networks_are_refused(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=100)
    settings = settings_of(tmp_path / "run", steps=200, algorithm=SAC(hidden=(8,)))
    with pytest.raises(WoodshedError, match=r"arrays\.npz does not fit the settings: .* \(8, 4\)"):
        resume(tmp_path / "run", settings)


def test_a_function_must_be_given_again(tmp_path: Path) -> None:
    train(Line, small_settings(steps=60), tmp_path / "run")
    with pytest.raises(WoodshedError, match="was made by a function: give it again"):
        resume(tmp_path / "run", settings_of(tmp_path / "run", steps=80))


def test_without_checkpoints_there_is_nothing_to_resume(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=60, keep_checkpoints=0)
    assert not (tmp_path / "run" / "checkpoints").exists()
    with pytest.raises(WoodshedError, match="holds no checkpoint"):
        resume(tmp_path / "run", settings_of(tmp_path / "run", steps=80))


def test_two_trainers_in_one_folder_are_refused(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=60)
    with (
        only_trainer(tmp_path / "run"),
        pytest.raises(WoodshedError, match="another process is training in"),
    ):
        resume(tmp_path / "run", settings_of(tmp_path / "run", steps=80))


def test_checkpoints_and_evaluations_do_not_change_the_run(tmp_path: Path) -> None:
    run(tmp_path / "a", steps=150, evaluate_every=0, keep_checkpoints=0)
    run(tmp_path / "b", steps=150, evaluate_every=30, checkpoint_every=20)
    reports = [
        [line for line in metrics_of(tmp_path / name) if "updates" in line] for name in ("a", "b")
    ]
    assert reports[0] == reports[1]


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=200, checkpoint_every=30, keep_checkpoints=2)
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["0006-step-180", "0007-step-200"]
