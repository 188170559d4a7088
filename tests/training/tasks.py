"""Small settings for training tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from woodshed.algorithms import SAC
from woodshed.training import Result, Settings, train
from woodshed.training.run_folder import read_settings

REACH = "woodshed/PointReach-v0"
SMALL = SAC(hidden=(16,), learning_rate=1e-3)


def small_settings(**changes: Any) -> Settings[SAC]:
    """Settings of a run that takes seconds, most of them compilation."""
    return Settings(
        **{
            "algorithm": SMALL,
            "steps": 200,
            "n_envs": 2,
            "learning_starts": 50,
            "batch_size": 16,
            "capacity": 1_000,
            "evaluate_every": 100,
            "evaluate_episodes": 3,
            "final_episodes": 4,
            "log_every": 50,
            **changes,
        }
    )


def run(folder: Path, env: Any = REACH, **changes: Any) -> Result:
    """Train with small settings."""
    return train(env, small_settings(**changes), folder)


def settings_of(folder: Path, **changes: Any) -> Settings[Any]:
    """The settings of a run, with changes."""
    return replace(read_settings(folder)[1], **changes)
