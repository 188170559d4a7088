"""The result of a run: `result.json`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from woodshed.files import read_json, write_json, writing_to

RESULT_FILE = "result.json"
SOLVED = 0.95
"""Success rate from which an evaluation counts as solved."""


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    success_rate: float | None
    """Of the final evaluation of the best policy, on episodes that no choice was made by; None
    where the environment reports no success, or the run was stopped before."""
    return_mean: float | None
    """Likewise, mean undiscounted return; None where the run was stopped before."""
    episodes: int
    """Episodes of the final evaluation."""
    env_steps: int
    """Environment steps trained for, over all environments."""
    updates: int
    """Gradient updates."""
    train_seconds: float
    """Wall time in training: compilation counts, evaluations do not."""
    steps_per_second: float
    """Environment steps per second of training."""
    solved_at_step: int | None
    """Environment steps at the first evaluation with 95 % success; None if there was none."""
    solved_at_seconds: float | None
    """Training seconds up to then."""
    interrupted: bool
    """Whether the run was stopped before its last step, or in the final evaluation."""

    def write(self, folder: Path) -> None:
        """Write `result.json` into the run folder.

        Raises:
            WoodshedError: the disk refuses.
        """
        with writing_to(folder / RESULT_FILE, "write"):
            write_json(folder / RESULT_FILE, asdict(self))


def is_finished(folder: Path) -> bool:
    """Whether the run in a folder came to its end, its final evaluation included."""
    result = _read(folder)
    return result is not None and result.get("interrupted") is False


def mark_interrupted(folder: Path) -> None:
    """Let the result of a run that goes on say so, until there is another one."""
    result = _read(folder)
    if result is not None:
        write_json(folder / RESULT_FILE, result | {"interrupted": True})


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / RESULT_FILE
    result = read_json(path) if path.exists() else None
    return result if isinstance(result, dict) else None
