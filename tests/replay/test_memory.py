"""A full buffer takes no more memory, however long it is written to."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_million_transitions_leave_the_resident_memory_as_it_was(
    storage: str, tmp_path: Path
) -> None:
    folder = [str(tmp_path)] if storage == "disk" else []
    run = subprocess.run(
        [sys.executable, "-m", "tests.replay.memory_worker", *folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    before, after, written = map(int, run.stdout.split())
    assert written >= 1_000_000
    assert abs(after - before) <= 0.01 * before, f"from {before} to {after} bytes"
