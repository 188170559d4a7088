"""Where a worker's stderr goes, and what it said last."""

import os
import tempfile
from pathlib import Path
from typing import IO

_TAIL_LINES = 30
_TAIL_BYTES = 1 << 16


class Log:
    """A file for one worker, which outlives its processes."""

    def __init__(self, folder: Path | None, worker: int) -> None:
        """Open the file.

        Args:
            folder: it is `worker-<number>.log` in there, appended to; without one it has no name
            worker: number of the worker
        """
        if folder is None:
            self._file: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115  `close` closes it
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / f"worker-{worker}.log").open("a+b")
        self._start = 0

    def begin(self) -> int:
        """The file descriptor for a new process; `tail` is about what comes from now on."""
        self._start = os.fstat(self._file.fileno()).st_size
        return self._file.fileno()

    def tail(self) -> str:
        """The last lines that the process wrote."""
        end = os.fstat(self._file.fileno()).st_size
        start = max(self._start, end - _TAIL_BYTES)
        text = os.pread(self._file.fileno(), end - start, start).decode(errors="replace")
        return "\n".join(text.splitlines()[-_TAIL_LINES:])

    def close(self) -> None:
        """Close the file."""
        self._file.close()
