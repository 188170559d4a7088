"""The pipe that ends a worker when the process that started it is gone, however that ended."""

import os
import select
import signal
import sys
import weakref


class Lifeline:
    """A pipe of which only this process has the write end.

    When it closes, which the kernel sees to, the kernel signals the worker at the read end.
    """

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        _LIFELINES.add(self)

    def handed_over(self) -> None:
        """Close the read end here: the worker has it."""
        os.close(self.read_end)

    def cut(self) -> None:
        """Close the write end."""
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1


_LIFELINES: weakref.WeakSet[Lifeline] = weakref.WeakSet()


def hang_on(read_end: int) -> None:
    """From now on this process and its group end when the write end of the pipe closes.

    The kernel then sends SIGIO, whose default is to end the process: also one that hangs in C code
    without ever looking at a signal of Python's.
    """
    import fcntl  # not on Windows, where this module can be imported all the same

    if sys.platform == "win32":
        raise OSError("there is no SIGIO on Windows")
    # A parent may have left the signal ignored or blocked, and that is inherited.
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    fcntl.fcntl(read_end, fcntl.F_SETOWN, -os.getpgrp())  # negative: the whole group
    fcntl.fcntl(read_end, fcntl.F_SETFL, fcntl.fcntl(read_end, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(read_end, select.POLLIN)
    if poll.poll(0):  # it closed before the kernel was asked to tell
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _cut_all() -> None:
    for lifeline in list(_LIFELINES):
        lifeline.cut()


# A fork of this process must not hold the workers when this process ends.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cut_all)
