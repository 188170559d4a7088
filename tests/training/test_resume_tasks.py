"""Stopped and resumed on real tasks, in this process and in workers: the same run, bit for bit."""

from pathlib import Path

import pytest
from tests.training.alike import assert_same_run
from tests.training.tasks import run, settings_of

from woodshed.training import resume

HALF = 130
SHORT = {"evaluate_every": 100, "evaluate_episodes": 2, "final_episodes": 2}


@pytest.mark.parametrize("env", ["Pendulum-v1", "FetchReach-v4"])
@pytest.mark.parametrize("n_envs", [1, 4])
def test_the_same_run_in_one_piece_in_two_and_in_workers(
    tmp_path: Path, env: str, n_envs: int
) -> None:
    workers = min(2, n_envs)
    run(tmp_path / "whole", env, n_envs=n_envs, steps=2 * HALF, **SHORT)
    for name, before, after in (("here", 0, 0), ("there", workers, workers)):
        run(tmp_path / name, env, n_envs=n_envs, steps=HALF, workers=before, **SHORT)
        resume(tmp_path / name, settings_of(tmp_path / name, steps=2 * HALF, workers=after))
        assert_same_run(tmp_path / "whole", tmp_path / name, env)
