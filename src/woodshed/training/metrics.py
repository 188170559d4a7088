"""Metrics: one line of JSON and one point of TensorBoard for each report."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from tensorboardX import SummaryWriter

METRICS_FILE = "metrics.jsonl"


class MetricsWriter:
    """Writes reports as they come: `metrics.jsonl` and TensorBoard events in the run folder."""

    def __init__(self, folder: Path) -> None:
        """Open both.

        Args:
            folder: of the run; events go to its `tensorboard`.
        """
        self._lines = (folder / METRICS_FILE).open("a", buffering=1)
        self._board = SummaryWriter(str(folder / "tensorboard"), write_to_disk=True)

    def write(self, metrics: Mapping[str, float], env_steps: int) -> None:
        """Write one report; a number that is not finite becomes null.

        Args:
            metrics: by name, `group/name` as TensorBoard likes it.
            env_steps: where on the axis.
        """
        known = {name: value if math.isfinite(value) else None for name, value in metrics.items()}
        self._lines.write(json.dumps({"env_steps": env_steps, **known}, allow_nan=False) + "\n")
        for name, value in metrics.items():
            if math.isfinite(value):
                self._board.add_scalar(name, value, env_steps)

    def close(self) -> None:
        """Flush and close both."""
        self._lines.close()
        self._board.close()
