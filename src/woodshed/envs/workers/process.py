"""One worker process: starting it, and being sure that it is gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from woodshed.envs.workers.channel import Channel
from woodshed.envs.workers.lifeline import Lifeline
from woodshed.envs.workers.log import Log

# Not `-m`: that looks for the package on the new interpreter's path, which need not be ours. The
# path comes before anything is imported, so that the working directory's files shadow nothing.
_BOOT = (
    "import sys; fds, sys.path[:], sys.argv[1:] = sys.argv[1:4], sys.argv[4:], []; "
    "from woodshed.envs.workers.child import main; main(*map(int, fds))"
)
_LAST_WORDS = 1.0
"""Seconds for a process that hangs to write where."""
_REAPING = 5.0
"""Seconds for the kernel to end a process that was killed."""


class WorkerProcess:
    """A process in a session of its own, whose group ends with it.

    It is no fork, which threads of the parent would not survive, and it does not import the
    parent's main module.

    Attributes:
        channel: our end.
    """

    def __init__(self, memory: int, log: Log) -> None:
        """Start it.

        Args:
            memory: file descriptor of the shared memory
            log: takes its stderr
        """
        ours, theirs = socket.socketpair()
        lifeline = Lifeline()
        fds = (theirs.fileno(), lifeline.read_end, memory)
        try:
            self._process = subprocess.Popen(
                # An empty entry is the working directory: said by its name it stays the same one.
                [
                    sys.executable,
                    "-c",
                    _BOOT,
                    *map(str, fds),
                    *(p or os.getcwd() for p in sys.path),
                ],
                stdin=subprocess.DEVNULL,
                stderr=log.begin(),
                pass_fds=fds,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            lifeline.cut()
            raise
        finally:
            theirs.close()
            lifeline.handed_over()
        self.channel = Channel(ours)
        self._lifeline = lifeline

    def is_over(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))

    def say_where(self) -> None:
        """Let a process that hangs write its threads' tracebacks to its log, and end by that."""
        self._process.send_signal(signal.SIGABRT)  # what faulthandler answers
        self.wait(_LAST_WORDS)

    def kill(self) -> str:
        """End the process and its group.

        Returns:
            How it ended: `killed by SIGKILL`, `exit code 3`.
        """
        # Of a group that is gone Linux says that there is none, macOS that it is not ours.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.wait(_REAPING)
        self.channel.close()
        self._lifeline.cut()
        return _how(self._process.returncode)


def end_all(processes: list[WorkerProcess], grace: float) -> None:
    """End processes that were asked to end, with their groups; so long they may take for it."""
    deadline = time.monotonic() + grace
    for process in processes:
        process.wait(deadline - time.monotonic())
    for process in processes:
        process.kill()


def _how(code: int | None) -> str:
    if code is None:
        return "killed, but it does not end"
    if code >= 0:
        return f"exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"
