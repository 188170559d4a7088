"""Short seeded runs that must solve a task."""

from dataclasses import replace
from pathlib import Path

import pytest

from woodshed.algorithms import SAC
from woodshed.presets import preset_settings
from woodshed.training import Settings, train
from woodshed.training.settings import HindsightChoice


@pytest.mark.parametrize(("hindsight", "solved"), [("future", True), ("none", False)])
def test_reaches_goals_with_hindsight_only(
    tmp_path: Path, hindsight: HindsightChoice, solved: bool
) -> None:
    """A point in the plane with a sparse reward."""
    settings = Settings(
        algorithm=SAC(hidden=(64, 64), learning_rate=1e-3, target_rate=0.02),
        steps=4_000,
        learning_starts=500,
        gamma=0.95,
        batch_size=128,
        capacity=10_000,
        evaluate_every=2_000,
        hindsight=hindsight,
    )
    result = train("woodshed/PointReach-v0", settings, tmp_path / "run")
    assert result.success_rate is not None
    assert (result.success_rate >= 0.95) == solved
    assert (result.solved_at_step is not None) == solved


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_fetch_reach_is_solved(tmp_path: Path, seed: int) -> None:
    """About a minute each on 2 cores."""
    settings = replace(preset_settings("FetchReach-v4", "sac"), seed=seed)
    result = train("FetchReach-v4", settings, tmp_path / "run")
    assert result.episodes == 50
    assert result.success_rate is not None
    assert result.success_rate >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pendulum_is_swung_up(tmp_path: Path, seed: int) -> None:
    """About half a minute each on 2 cores."""
    settings = replace(preset_settings("Pendulum-v1", "sac"), seed=seed, final_episodes=20)
    result = train("Pendulum-v1", settings, tmp_path / "run")
    assert result.env_steps == 10_000
    assert result.return_mean is not None
    assert result.return_mean >= -200
