"""Stopping on Ctrl-C, in good order."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether the user has asked the run to stop."""

    def __init__(self) -> None:
        self.asked = False

    def ask(self) -> None:
        """Ask the run to stop after the step that it is in."""
        self.asked = True


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn Ctrl-C and SIGTERM into a request to stop; a second Ctrl-C interrupts at once.

    Elsewhere than in the main thread Python takes no signals, so there the request is never made.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if request.asked:
            raise KeyboardInterrupt
        request.ask()

    signals = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(number, on_signal) for number in signals]
    try:
        yield request
    finally:
        for number, handler in zip(signals, previous, strict=True):
            # None: set by other than Python code, which Python cannot set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
