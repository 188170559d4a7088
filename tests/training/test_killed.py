"""SIGKILL at any moment: the newest checkpoint is whole, and the run becomes what it would be."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.training.alike import assert_same_run
from tests.training.tasks import REACH

from woodshed.training.checkpoint_folder import list_checkpoints

SETTINGS = (
    *("--hidden", "16", "--n-envs", "2", "--learning-starts", "20", "--batch-size", "16"),
    *("--capacity", "1000", "--checkpoint-every", "4", "--log-every", "10"),
    *("--evaluate-every", "20", "--evaluate-episodes", "2", "--final-episodes", "2"),
)
PATIENCE = 120.0


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "woodshed.cli.main", *args]


def start(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(*args), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill_soon_after_a_new_checkpoint(
    process: subprocess.Popen[bytes], run: Path, wait: float
) -> None:
    """Kill the process some time after it has written its first checkpoint."""
    before, patience = list_checkpoints(run)[-1:], time.monotonic() + PATIENCE
    while list_checkpoints(run)[-1:] == before:
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < patience
        time.sleep(0.002)
    time.sleep(wait)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def killed_and_resumed(tmp_path: Path, kills: int, *, workers: int) -> None:
    run, rng = tmp_path / "killed", np.random.default_rng(kills)
    spread = ("--workers", str(workers))
    process = start("train", REACH, *SETTINGS, *spread, "--steps", "100000", "--out", str(run))
    for _ in range(kills):
        kill_soon_after_a_new_checkpoint(process, run, float(rng.uniform(0, 0.2)))
        process = start("resume", str(run))
    kill_soon_after_a_new_checkpoint(process, run, 0.0)
    steps = str(int(list_checkpoints(run)[-1].name.rsplit("-", 1)[1]) + 20)
    for args in (
        ("resume", str(run), "--steps", steps),
        ("train", REACH, *SETTINGS, "--steps", steps, "--out", str(tmp_path / "whole")),
    ):
        subprocess.run(command(*args), check=True, capture_output=True)
    assert_same_run(tmp_path / "whole", run, REACH)


def test_killed_and_resumed(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, 1, workers=1)


@pytest.mark.slow
def test_killed_at_30_random_moments(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, 30, workers=0)
