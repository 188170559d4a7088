"""Worker: training steps per second of Woodshed, by its command line in this environment."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Measurement, print_result
from benchmarks.train_worker import (
    ENVIRONMENT,
    LEARNING_STARTS,
    TrainSettings,
    parse_settings,
)

PACKAGES = ("woodshed", "jax", "numpy", "gymnasium", "gymnasium-robotics", "mujoco")
PRESET = Path(__file__).with_name("train.toml")


def command(settings: TrainSettings, folder: Path) -> list[str]:
    """The command line of the run; the only place that knows its options."""
    return [
        str(Path(sys.executable).with_name("woodshed")),
        *("train", ENVIRONMENT),
        *("--steps", str(settings.total_steps)),
        *("--n-envs", str(settings.n_envs)),
        *("--preset", str(PRESET)),
        *("--hidden", *(str(width) for width in settings.hidden)),
        *("--learning-starts", str(LEARNING_STARTS)),
        *("--hindsight", "future" if settings.hindsight else "none"),
        *("--out", str(folder)),
    ]


def steps_per_second(metrics: Path, clock_starts: int) -> float:
    """Environment steps per second between the first report after the warm-up and the last one."""
    reports = [json.loads(line) for line in metrics.read_text().splitlines()]
    timed = [report for report in reports if report["env_steps"] >= clock_starts]
    first, last = timed[0], timed[-1]
    seconds = last["train_seconds"] - first["train_seconds"]
    return float((last["env_steps"] - first["env_steps"]) / seconds)


def train(settings: TrainSettings) -> float:
    """Train in a folder that is thrown away; the command's own output goes to standard error."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run"
        subprocess.run(command(settings, folder), check=True, stdout=sys.stderr)
        return steps_per_second(folder / "metrics.jsonl", settings.clock_starts)


def main() -> None:
    settings = parse_settings()
    print_result([Measurement(settings.name, 0, settings.n_envs, train(settings))], PACKAGES)


if __name__ == "__main__":
    main()
