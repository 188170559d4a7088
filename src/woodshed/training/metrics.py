"""Metrics: one line of JSON and one point of TensorBoard for each report."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from tensorboardX import SummaryWriter

from woodshed.files import replaced_file, writing_to

METRICS_FILE = "metrics.jsonl"
UNDONE_FILE = "metrics-undone.jsonl"
"""Lines of steps that a resumed run makes again."""


class MetricsWriter:
    """Writes reports as they come: `metrics.jsonl` and TensorBoard events in the run folder."""

    def __init__(self, folder: Path, *, resumed_after: int | None = None) -> None:
        """Open both.

        Args:
            folder: of the run; events go to its `tensorboard`.
            resumed_after: environment steps of the checkpoint that the run goes on from;
                TensorBoard forgets those after it.
        """
        self._path = folder / METRICS_FILE
        self._lines = self._path.open("a", buffering=1)
        self._board = SummaryWriter(
            str(folder / "tensorboard"),
            write_to_disk=True,
            purge_step=None if resumed_after is None else resumed_after + 1,
        )

    @property
    def size(self) -> int:
        """Bytes of `metrics.jsonl`."""
        return self._path.stat().st_size

    def write(self, metrics: Mapping[str, float], env_steps: int) -> None:
        """Write one report; a number that is not finite becomes null.

        Args:
            metrics: by name, `group/name` as TensorBoard likes it.
            env_steps: where on the axis.

        Raises:
            WoodshedError: the disk refuses.
        """
        known = {name: value if math.isfinite(value) else None for name, value in metrics.items()}
        line = json.dumps({"env_steps": env_steps, **known}, allow_nan=False)
        with writing_to(self._path, "write to"):
            self._lines.write(f"{line}\n")
        for name, value in metrics.items():
            if math.isfinite(value):
                self._board.add_scalar(name, value, env_steps)

    def close(self) -> None:
        """Flush and close both."""
        self._lines.close()
        self._board.close()


def undo_metrics(folder: Path, size: int) -> None:
    """Take back the lines after the first `size` bytes: they go to `metrics-undone.jsonl`."""
    path = folder / METRICS_FILE
    written = path.read_bytes() if path.exists() else b""
    if len(written) > size:
        with (folder / UNDONE_FILE).open("ab") as undone:
            undone.write(written[size:])
        with replaced_file(path) as aside:
            aside.write_bytes(written[:size])
