"""Training time: wall time with the evaluations left out."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds since it was made, less those that were paused."""

    def __init__(self, seconds: float = 0.0) -> None:
        """Begin with the seconds that a resumed run has taken already."""
        self._start = time.perf_counter() - seconds
        self._paused = 0.0

    @property
    def seconds(self) -> float:
        """Training seconds so far."""
        return time.perf_counter() - self._start - self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time in this block out."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._paused += time.perf_counter() - start
