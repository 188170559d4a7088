import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from woodshed.cli.main import main

REACH = "woodshed/PointReach-v0"
TINY = [
    *("--steps", "120", "--n-envs", "2", "--learning-starts", "60", "--batch-size", "8"),
    *("--hidden", "8", "--capacity", "500", "--evaluate-every", "60"),
    *("--evaluate-episodes", "2", "--final-episodes", "2", "--log-every", "60"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "reach"
    assert main(["train", REACH, *TINY, "--out", str(folder)]) == 0
    return folder


def test_train_writes_the_settings_it_was_given(run: Path) -> None:
    settings = json.loads((run / "settings.json").read_text())
    assert settings["env"] == REACH
    assert settings["steps"] == 120
    assert settings["algorithm"]["hidden"] == [8]


def test_evaluate_prints_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--episodes", "3"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["episodes"] == 3
    assert 0 <= shown["success_rate"] <= 1
    assert shown["length_mean"] == 25  # PointReach's time limit; it does not end on success


@pytest.mark.parametrize("ending", ["png", "PNG", "svg"])
def test_plot_writes_a_picture(run: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"curve.{ending}"
    assert main(["plot", str(run), str(run), "--out", str(out)]) == 0
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}[ending.lower()]
    assert out.read_bytes().startswith(begins)


def test_presets_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    assert "FetchReach-v4" in capsys.readouterr().out.split()
    assert main(["presets", "Pendulum-v1"]) == 0
    assert "[sac.algorithm]" in capsys.readouterr().out


def test_help_shows_every_setting_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["train", "FetchReach-v4", "--help"])
    assert leaving.value.code == 0
    shown = re.sub(r"[│\s]+", " ", capsys.readouterr().out)
    assert "--updates-per-step FLOAT Replay ratio" in shown
    assert "--gamma FLOAT Discount factor of one environment step. (default: 0.95)" in shown
    assert "--hidden [INT [INT ...]] Units of each hidden layer" in shown


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["trian"], "unknown command 'trian'"),
        (["train"], "expected an environment first"),
        (["train", "--steps", "5"], "expected an environment first"),
        (
            ["train", "FetchReech-v4"],
            "unknown environment 'FetchReech-v4'; did you mean 'FetchReach-v4'",
        ),
        (["train", REACH, "--steps", "many"], "--steps"),
        (["train", REACH, "--stepps", "5"], "--stepps"),
        (["train", REACH, "--steps", "0"], "steps is 0, expected at least 1"),
        (["train", REACH, "--gamma", "1.5"], "gamma is 1.5, expected a number from 0 to 1"),
        (["train", REACH, "--learning-rate", "-1"], "learning_rate is -1.0"),
        (["train", REACH, "--algorithm", "sax"], "algorithm 'sax' is unknown; there is sac"),
        (["train", REACH, "--preset", "nothing"], "preset 'nothing' is unknown; there is"),
        (["train", REACH, "--preset", "no/such.toml"], "there is no preset file no/such.toml"),
        (["train", REACH, "--preset", ""], "preset '' is unknown"),
        (["train", REACH, "--preset"], "--preset"),
        (["train", REACH, "--algorithm"], "--algorithm"),
        (["train", REACH, "--n-step", "5", "1"], "n_step is (5, 1)"),
        (["train", REACH, "--n-step", "1", "2", "3"], "n_step is (1, 2, 3)"),
        (["train", REACH, "--gamma", "nan"], "gamma is nan"),
        (["train", REACH, "--hindsight-k", "-1"], "hindsight k is -1.0"),
        (["train", REACH, "--info-keys", "no"], "no info key 'no'"),
        (["train", REACH, "--hidden"], "hidden is ()"),
        (["train", REACH, "--out", __file__], "exists already"),
        (["train", REACH, "--out", f"{__file__}/run"], "cannot make the run folder"),
        (["train", ""], "unknown environment ''"),
        (["train", REACH, "--hindsight", "past"], "--hindsight"),
        (["train", "Pendulum-v1", "--hindsight", "future"], "the environment has no goals"),
        (["train", "CartPole-v1"], "Discrete"),
        (["train", REACH, "--capacity", str(10**13)], "of memory are available"),
        (["train", REACH, "--policy-keys", "velocity"], "no key 'velocity'"),
        (["train", REACH, "--workers", "9"], "workers is 9, expected at most one for each of 4"),
        (["train", REACH, "--workers", "-1"], "workers is -1"),
        (["train", REACH, "--step-timeout", "5"], "step_timeout does nothing without workers"),
        (["train", REACH, "--workers", "1", "--step-timeout", "inf"], "step_timeout is inf"),
        (["train", REACH, "--workers", "1", "--max-failures", "0"], "max_failures is 0"),
        (
            ["train", REACH, "--keep-checkpoints", "0", "--checkpoint-every", "5"],
            "checkpoint_every does nothing where keep_checkpoints is 0",
        ),
        (["resume"], "expected a run folder first"),
        (["resume", "--steps", "5"], "expected a run folder first"),
        (["resume", "no/such/run"], "there is no folder no/such/run"),
        (["resume", "."], "is not the folder of a training run"),
        (["evaluate", "no/such/run"], "there is no folder no/such/run"),
        (["evaluate", "."], "is not the folder of a training run"),
        (["plot", "no/such/run"], "there is no folder no/such/run"),
        (["plot"], "expected the folder of a run"),
        (["presets", "Nothing-v0"], "preset 'Nothing-v0' is unknown"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    args: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    shown = capsys.readouterr()
    lines = shown.err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("woodshed: ")
    assert expected in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_wrong_type_in_a_preset_names_file_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = tmp_path / "mine.toml"
    for text, expected in (
        ("[sac]\nsteps = 'many'", r"mine\.toml: Expected `int`, got `str` - at `\$\.steps`"),
        ("[sac]\nstepps = 5", r"mine\.toml: Settings has no setting 'stepps'"),
        ("[sac.algorithm]\nhiden = [5]", r"mine\.toml: SAC has no setting 'hiden'"),
        ("[sac]\ngamma = ", r"mine\.toml is no TOML file"),
        ("[tqc]\nsteps = 5", r"has no settings for sac; it has tqc"),
    ):
        preset.write_text(text)
        assert main(["train", REACH, "--preset", str(preset)]) == 2
        assert re.search(expected, capsys.readouterr().err)


def test_a_run_is_resumed_with_the_settings_given(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, tmp_path / "run")
    steps = json.loads((run / "result.json").read_text())["env_steps"] + 40
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "is at its end" in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--steps", str(steps), "--gamma", "0.5"]) == 0
    assert f"trained     {steps:,} steps" in capsys.readouterr().out
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert (settings["steps"], settings["gamma"]) == (steps, 0.5)
    assert main(["resume", str(tmp_path / "run"), "--seed", "9", "--steps", "9999"]) == 2
    assert "cannot be changed" in capsys.readouterr().err
    with pytest.raises(SystemExit) as leaving:
        main(["resume", str(tmp_path / "run"), "--help"])
    assert leaving.value.code == 0
    assert f"(default: {steps})" in capsys.readouterr().out


def test_existing_folder_is_kept(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "result.json").read_text()
    assert main(["train", REACH, *TINY, "--out", str(run)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (run / "result.json").read_text() == before


def test_damaged_policy_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("settings.json", "policy"):
        (tmp_path / file).symlink_to(run / file)
    (tmp_path / "policy").unlink()
    (tmp_path / "policy").mkdir()
    for file in ("policy.json", "policy.npz"):
        content = (run / "policy" / file).read_bytes()
        (tmp_path / "policy" / file).write_bytes(content)
    (tmp_path / "policy" / "policy.npz").write_bytes(b"nothing")
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "policy.npz is damaged" in capsys.readouterr().err
    (tmp_path / "policy" / "policy.json").write_text("{")
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "policy.json is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--env", "Pendulum-v1"], "the policy was trained on other observations"),
        (["--env", "CartPole-v1"], "the policy was trained on other observations"),
        (["--env", "Nothing-v0"], "unknown environment 'Nothing-v0'"),
        (["--episodes", "0"], "episodes is 0, expected at least 1"),
        (["--n-envs", "0"], "n_envs is 0, expected at least 1"),
        (["--seed", "-1"], "seed -1"),
        (["--policy", "worst"], "--policy"),
    ],
)
def test_mistakes_in_evaluating_are_one_line(
    run: Path, args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), *args]) == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert len(shown.strip().splitlines()) == 1


@pytest.mark.parametrize("policy", ["best", "last"])
def test_evaluation_does_not_depend_on_more_environments_than_episodes(
    run: Path, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for n_envs in ("2", "9"):
        args = ["--episodes", "2", "--n-envs", n_envs, "--policy", policy]
        assert main(["evaluate", str(run), *args]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", "damaged"),
        ("{", "damaged"),
        ('{"evaluation/return": 1.0}', "damaged"),
        ('{"evaluation/return": 1.0, "env_steps": "x", "train_seconds": 1}', "damaged"),
        ("", "holds no evaluation yet"),
    ],
)
def test_damaged_metrics_are_named(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.json").touch()
    (tmp_path / "metrics.jsonl").write_text(text)
    assert main(["plot", str(tmp_path), "--out", str(tmp_path / "a.png")]) == 2
    shown = capsys.readouterr().err
    assert "metrics.jsonl" in shown
    assert expected in shown
    assert not (tmp_path / "a.png").exists()


def test_picture_that_cannot_be_written_is_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.png").mkdir()
    for out, expected in (
        (tmp_path / "folder.png", "cannot write"),
        (Path(__file__) / "a.png", "cannot write"),
        (tmp_path / "a.doc", "cannot draw a .doc file"),
        (tmp_path / "a", "cannot draw a nameless file"),
    ):
        assert main(["plot", str(run), "--out", str(out)]) == 2
        shown = capsys.readouterr().err
        assert expected in shown
        assert len(shown.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


@pytest.mark.parametrize("args", [["presets"], ["--help"], ["presets", "--help"]])
def test_output_that_nobody_reads_is_no_traceback(args: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "woodshed.cli.main", *args]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


def test_help_does_not_wait_for_jax() -> None:
    code = (
        "import sys; from woodshed.cli.main import main; "
        "main(['--help']); print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "usage: woodshed COMMAND" in done.stdout
    assert done.stdout.strip().endswith("False")
