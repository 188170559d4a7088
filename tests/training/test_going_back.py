"""Going back to an earlier checkpoint, and runs that fail or are killed at awkward moments."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.training.alike import assert_same_run, metrics_of
from tests.training.line import Line
from tests.training.tasks import REACH, run, settings_of, small_settings

from woodshed.errors import WoodshedError
from woodshed.training import load_policy, resume, train
from woodshed.training.checkpoint import Ratio
from woodshed.training.checkpoint_folder import list_checkpoints, newest_checkpoint
from woodshed.training.progress import Progress
from woodshed.training.reporter import LineReporter
from woodshed.training.run_folder import read_settings
from woodshed.training.snapshot import changed_ratio


class Breaking(Line):
    """Raises in the n-th step of its life while a file is there that says n; once."""

    def __init__(self, file: Path, length: int = 30) -> None:
        super().__init__(length=length)
        self.file = file

    def step(self, action: Any) -> Any:
        if self.file.exists() and len(self.seen_actions) == int(self.file.read_text()):
            self.file.unlink()
            raise RuntimeError("the motor is on fire")
        return super().step(action)


@pytest.mark.parametrize("step", [20, 29, 30, 90])  # random actions, an episode's end, learning
def test_a_run_that_an_environment_ended_is_resumed_bit_for_bit(tmp_path: Path, step: int) -> None:
    settings = small_settings(n_envs=2, steps=240, evaluate_every=60)
    file = tmp_path / "break"
    train(lambda: Breaking(file), settings, tmp_path / "whole")
    file.write_text(str(step))
    with pytest.raises(RuntimeError, match="on fire"):
        train(lambda: Breaking(file), settings, tmp_path / "parts")
    assert not file.exists()
    resume(tmp_path / "parts", env=lambda: Breaking(file))
    assert_same_run(tmp_path / "whole", tmp_path / "parts", lambda: Breaking(file))


def test_an_evaluation_that_fails_leaves_a_checkpoint(tmp_path: Path) -> None:
    class Judged(Line):
        made = 0

        def __init__(self) -> None:
            super().__init__()
            Judged.made += 1
            self.in_evaluation = Judged.made == 3

        def step(self, action: Any) -> Any:
            if self.in_evaluation:
                raise RuntimeError("no judge")
            return super().step(action)

    settings = small_settings(n_envs=1, steps=200, evaluate_every=80)
    with pytest.raises(RuntimeError, match="no judge"):
        train(Judged, settings, tmp_path / "run")
    assert newest_checkpoint(tmp_path / "run").name == "0001-step-80"
    train(Line, settings, tmp_path / "whole")
    resume(tmp_path / "run", env=Line)
    assert_same_run(tmp_path / "whole", tmp_path / "run", Line)


def test_a_crash_after_going_back_does_not_return_to_what_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "run", steps=200, checkpoint_every=100)
    run(tmp_path / "whole", steps=200)

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    first, second = list_checkpoints(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("woodshed.training.run.Run.loop", crash)
        with pytest.raises(KeyboardInterrupt):
            resume(tmp_path / "run", settings_of(tmp_path / "run"), checkpoint=first)
    assert list_checkpoints(tmp_path / "run") == [first]
    (left,) = (tmp_path / "run" / "checkpoints" / "undone").iterdir()
    assert left.name.startswith(second.name)
    assert metrics_of(tmp_path / "run")[-1]["env_steps"] < 100
    resume(tmp_path / "run")
    assert_same_run(tmp_path / "whole", tmp_path / "run", REACH)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(tmp_path / name, steps=60)
    foreign = newest_checkpoint(tmp_path / "b")
    with pytest.raises(WoodshedError, match=r"is no checkpoint of .*a; .* are 0001-step-60"):
        resume(tmp_path / "a", settings_of(tmp_path / "a", steps=80), checkpoint=foreign)


def test_killed_at_the_end_of_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps are made, the last updates and the result are not."""
    run(tmp_path / "run", steps=100)
    run(tmp_path / "whole", steps=150)

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("woodshed.training.finish.save_policy", crash)
        with pytest.raises(KeyboardInterrupt):
            resume(tmp_path / "run", settings_of(tmp_path / "run", steps=150))
    assert json.loads((tmp_path / "run" / "result.json").read_text())["interrupted"]
    resume(tmp_path / "run")
    assert_same_run(tmp_path / "whole", tmp_path / "run", REACH)


def test_settings_are_recorded_also_of_functions(tmp_path: Path) -> None:
    train(Line, small_settings(steps=60), tmp_path / "run")
    resume(tmp_path / "run", settings_of(tmp_path / "run", steps=90, batch_size=8), env=Line)
    name, settings = read_settings(tmp_path / "run")
    assert (name, settings.steps, settings.batch_size) == (None, 90, 8)
    (line,) = (tmp_path / "run" / "resumes.jsonl").read_text().splitlines()
    assert json.loads(line)["changed"] == {"steps": [60, 90], "batch_size": [16, 8]}


def test_a_policy_of_later_steps_goes(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=200, checkpoint_every=50, keep_checkpoints=9, evaluate_every=100)
    first = list_checkpoints(tmp_path / "run")[0]
    resume(
        tmp_path / "run",
        settings_of(tmp_path / "run", steps=60, evaluate_every=0, final_episodes=1),
        checkpoint=first,
    )
    last, best = (load_policy(tmp_path / "run" / name) for name in ("policy-last", "policy"))
    assert last.actor.network.layers[0].weight.tolist() == (
        best.actor.network.layers[0].weight.tolist()
    )


@pytest.mark.parametrize(
    ("env_steps", "updates", "before", "now", "expected"),
    [
        (100, 50, Ratio(1.0, 50), Ratio(1.0, 50), (None, 0)),
        (100, 48, Ratio(1.0, 50), Ratio(4.0, 50), (100, 50)),  # two are pending
        (100, 200, Ratio(4.0, 50), Ratio(1.0, 50), (100, 200)),
        (30, 0, Ratio(1.0, 50), Ratio(2.0, 50), (50, 0)),
        (100, 50, Ratio(1.0, 50), Ratio(1.0, 400), (400, 50)),
    ],
)
def test_another_ratio_counts_from_here_on(
    env_steps: int, updates: int, before: Ratio, now: Ratio, expected: tuple[int | None, int]
) -> None:
    progress = Progress(env_steps=env_steps, updates=updates)
    changed = changed_ratio(progress, before, now)
    assert (changed.owed_since_step, changed.owed_since_updates) == expected
    assert changed.updates == updates


def test_a_ratio_that_changes_and_changes_back(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=100, updates_per_step=0.5)
    for steps, ratio, updates in ((140, 2.0, 25 + 80), (180, 0.5, 25 + 80 + 20)):
        changes = {"steps": steps, "updates_per_step": ratio}
        result = resume(tmp_path / "run", settings_of(tmp_path / "run", **changes))
        assert result.updates == updates


def test_an_episode_that_is_partly_overwritten_is_not_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def make() -> Line:
        return Line(length=500)

    train(make, small_settings(n_envs=2, steps=120, capacity=60), tmp_path / "run")
    settings = settings_of(tmp_path / "run", steps=160)
    result = resume(tmp_path / "run", settings, env=make, reporter=LineReporter(160))
    assert result.env_steps == 160
    said = capsys.readouterr().out
    assert said.count("the replay does not hold the first steps of its episode") == 2


def test_an_environment_that_fails_when_it_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "break"

    def make() -> Breaking:
        return Breaking(file, length=500)

    train(make, small_settings(n_envs=1, steps=100, evaluate_every=0), tmp_path / "run")
    file.write_text("40")
    settings = settings_of(tmp_path / "run", steps=120)
    resume(tmp_path / "run", settings, env=make, reporter=LineReporter(120))
    assert "it failed while its episode was made again" in capsys.readouterr().out


def test_fewer_environments_and_a_full_replay(tmp_path: Path) -> None:
    """The lanes grow, and what they hold can be loaded again."""
    run(tmp_path / "run", steps=400, n_envs=4, capacity=200, updates_per_step=0.1)
    for steps in (600, 800, 900):
        resume(tmp_path / "run", settings_of(tmp_path / "run", steps=steps, n_envs=2))
    about = json.loads((newest_checkpoint(tmp_path / "run") / "replay/replay.json").read_text())
    assert about["capacity"] == 200
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    for name in ("run", "copy"):
        resume(tmp_path / name, settings_of(tmp_path / name, steps=950))
    assert_same_run(tmp_path / "run", tmp_path / "copy", REACH)
