"""Comparing runs: everything but times must be the same, bit for bit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from woodshed.envs import make_environment
from woodshed.files import read_arrays
from woodshed.replay import ReplayBuffer
from woodshed.runners import normalised_actions
from woodshed.training.checkpoint import Checkpoint, read_checkpoint
from woodshed.training.checkpoint_folder import newest_checkpoint

TIMES = ("seconds", "per_second")


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl` without times."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.endswith(TIMES)} for line in lines]


def result_of(folder: Path) -> dict[str, Any]:
    result = json.loads((folder / "result.json").read_text())
    return {k: v for k, v in result.items() if not k.endswith(TIMES)}


def assert_same_run(a: Path, b: Path, env: Any) -> None:
    """Metrics, result, policies, learner, replay and generators of two runs."""
    assert metrics_of(a) == metrics_of(b)
    assert result_of(a) == result_of(b)
    for policy in ("policy", "policy-last"):
        one, other = (read_arrays(folder / policy / "policy.npz") for folder in (a, b))
        assert_same_arrays(one, other)
    first, second = (read_checkpoint(newest_checkpoint(folder)) for folder in (a, b))
    assert_same_checkpoint(first, second)
    assert stored(first, env) == stored(second, env)


def assert_same_arrays(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, array in a.items():
        assert array.dtype == b[name].dtype
        np.testing.assert_array_equal(array, b[name], err_msg=name)


def assert_same_checkpoint(a: Checkpoint, b: Checkpoint) -> None:
    assert_same_arrays(a.arrays, b.arrays)
    abouts = []
    for checkpoint in (a, b):
        timeless = replace(
            checkpoint.about.progress,
            train_seconds=0.0,
            reported_seconds=0.0,
            solved_at_seconds=None,
        )
        abouts.append(replace(checkpoint.about, progress=timeless, checksums={}, metrics_bytes=0))
    assert abouts[0] == abouts[1]


def stored(checkpoint: Checkpoint, env: Any) -> list[Any]:
    """All that a checkpoint's replay holds, and the state of its generator."""
    environment = make_environment(env)
    about = json.loads((checkpoint.replay / "replay.json").read_text())
    buffer = ReplayBuffer(
        environment.observation_space,
        normalised_actions(environment.action_space),
        (about["rows_per_lane"] - 1) * len(about["newest"]),
        n_envs=len(about["newest"]),
    )
    environment.close()
    buffer.load(checkpoint.replay)
    episodes = [
        (_bytes(e.observation), _bytes(e.action), _bytes(e.reward), e.ending)
        for e in buffer.episodes()
    ]
    return [episodes, about["newest"], about["generator"]]


def _bytes(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _bytes(leaf) for key, leaf in tree.items()}
    array = np.asarray(tree)
    return array.dtype.str, array.shape, array.tobytes()
