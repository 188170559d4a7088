"""Metrics: one line of JSON and one point of TensorBoard for each report."""

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tensorboardX import SummaryWriter

from woodshed.files import replaced_file, writing_to

METRICS_FILE = "metrics.jsonl"
UNDONE_FILE = "metrics-undone.jsonl"
"""Lines of steps that a resumed run makes again."""


class MetricsWriter:
    """Writes reports as they come: `metrics.jsonl` and TensorBoard events in the run folder."""

    def __init__(self, folder: Path, *, purge_after: int | None = None) -> None:
        """Open both.

        Args:
            folder: of the run; events go to its `tensorboard`.
            purge_after: of a resumed run, the environment steps of the last line that stays;
                TensorBoard forgets what it has of later ones.
        """
        self._path = folder / METRICS_FILE
        self._lines = self._path.open("a", buffering=1)
        self._board = SummaryWriter(
            str(folder / "tensorboard"),
            write_to_disk=True,
            purge_step=None if purge_after is None else purge_after + 1,
        )

    def flushed_size(self) -> int:
        """Bytes of `metrics.jsonl`, all of them on the disk itself."""
        with writing_to(self._path, "write to"):
            os.fsync(self._lines.fileno())
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
        with suppress(OSError):  # a full disk was told of when a line could not be written
            self._lines.close()
        self._board.close()


def undo_metrics(folder: Path, size: int) -> int:
    """Take back the lines after the first `size` bytes: they go to `metrics-undone.jsonl`.

    Returns:
        Environment steps of the last line that stays; 0 where none does.
    """
    path = folder / METRICS_FILE
    written = path.read_bytes() if path.exists() else b""
    kept = written[:size]
    kept = kept[: kept.rfind(b"\n") + 1]  # whole lines, also where the file was cut short
    if len(kept) < len(written):
        with (folder / UNDONE_FILE).open("ab") as undone:
            undone.write(written[len(kept) :])
        with replaced_file(path) as aside:
            aside.write_bytes(kept)
    return int(json.loads(kept.splitlines()[-1])["env_steps"]) if kept else 0
