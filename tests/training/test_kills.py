"""Twenty workers killed at random during a training run."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.alike import stored
from tests.training.tasks import REACH, run

from woodshed.training.checkpoint import read_checkpoint
from woodshed.training.checkpoint_folder import newest_checkpoint

KILLS, LANES, EPISODE = 20, 4, 25


def workers() -> list[int]:
    """Process numbers of this process's workers, oldest first."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            command = (folder / "cmdline").read_text()
        except OSError:
            continue  # it has ended meanwhile
        if parent == os.getpid() and "woodshed.envs.workers" in command:
            found.append(int(folder.name))
    return sorted(found)


def kill_at_random(metrics: Path, done: threading.Event) -> None:
    """Kill workers, but for that of the last lane, when a while has gone by since the last kill."""
    rng, spared, killed = np.random.default_rng(0), 0, set[int]()
    while not (metrics.exists() and metrics.read_text()) and not done.is_set():
        time.sleep(0.02)  # the run has not begun
    while len(killed) < KILLS and not done.is_set():
        time.sleep(float(rng.uniform(0.05, 0.4)))
        alive = [pid for pid in workers() if pid not in killed]
        if len(alive) < LANES:
            continue
        spared = spared or alive[-1]
        victim = int(rng.choice([pid for pid in alive if pid != spared]))
        os.kill(victim, signal.SIGKILL)
        killed.add(victim)


def lane_of(folder: Path, lane: int) -> Any:
    """The stored episodes of a lane."""
    checkpoint = read_checkpoint(newest_checkpoint(folder))
    episodes, _, _ = stored(checkpoint, REACH)
    about = json.loads((checkpoint.replay / "replay.json").read_text())
    counts = np.load(next(checkpoint.replay.glob("episodes-*.npy")))[:, 0]
    assert len(about["newest"]) == LANES
    assert len(counts) == len(episodes)
    return [episode for episode, of in zip(episodes, counts, strict=True) if of == lane]


@pytest.mark.slow
def test_the_run_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "steps": 40_000,
        "n_envs": LANES,
        "capacity": 100_000,
        "updates_per_step": 0.0,
        "normalise_observations": False,
        "evaluate_every": 0,
        "checkpoint_every": 0,
    }
    run(tmp_path / "undisturbed", **changes)
    done = threading.Event()
    killer = threading.Thread(
        target=kill_at_random, args=(tmp_path / "run" / "metrics.jsonl", done)
    )
    killer.start()
    try:
        result = run(tmp_path / "run", **changes, workers=LANES, max_failures=KILLS)
    finally:
        done.set()
        killer.join()
    assert not result.interrupted
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["failures"] == KILLS
    about = json.loads((newest_checkpoint(tmp_path / "run") / "replay/replay.json").read_text())
    assert about["written"] == result.env_steps
    spared, undisturbed = (lane_of(tmp_path / name, LANES - 1) for name in ("run", "undisturbed"))
    assert spared[: len(undisturbed) - 1] == undisturbed[:-1]  # the last one is open
    cut = sum(
        episode[3] == "cut" for lane in range(LANES) for episode in lane_of(tmp_path / "run", lane)
    )
    assert 0 < cut <= KILLS
    assert 40_000 <= result.env_steps < 40_000 + LANES
