"""The worker processes together: asking them, and finding out which of them failed."""

import os
import pickle
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from woodshed.envs.workers import channel as kinds
from woodshed.envs.workers.block import open_memory
from woodshed.envs.workers.channel import Message
from woodshed.envs.workers.failure import Failure
from woodshed.envs.workers.log import Log
from woodshed.envs.workers.process import WorkerProcess, end_all
from woodshed.errors import WoodshedError

Answer: TypeAlias = bytes | WoodshedError | Failure
"""What was answered; a user's mistake, after which the worker goes on; the end of the worker."""

_CLOSING = 3.0
"""Seconds for the environments to close."""
_SENDING = 60.0
"""Seconds for a worker to read a request, which it does at once unless it was stopped."""
_LOOK_AGAIN = 1.0
"""Seconds after which it is looked whether a silent worker is there at all."""


class Pool:
    """K processes that each answer one request at a time.

    Requests are numbered. An answer to an older one than the last, which nobody waits for any
    more, is dropped; that the worker failed is not.

    Attributes:
        lanes: for each worker its lanes.
        memory: file descriptor of the memory that all processes share.
        closed: whether `close` was called.
    """

    def __init__(
        self,
        jobs: Sequence[bytes],
        lanes: Sequence[tuple[int, ...]],
        log_folder: Path | None,
    ) -> None:
        """Prepare them; `start` starts them.

        Args:
            jobs: for each worker what it is told first
            lanes: for each worker its lanes
            log_folder: where their logs are kept
        """
        self._jobs = jobs
        self._logs = [Log(log_folder, worker) for worker in range(len(jobs))]
        self._processes: dict[int, WorkerProcess] = {}
        self._waiting: list[int] = []
        self._answers: dict[int, Answer] = {}
        self._dead: dict[int, Failure] = {}
        self._ticket = 0
        self._owner = os.getpid()
        self.lanes = lanes
        self.memory = open_memory()
        self.closed = False

    def start(self, workers: Iterable[int]) -> None:
        """Start or restart these workers, and ask them to make their environments.

        They answer with their spaces. All are started before any is waited for.
        """
        chosen = list(workers)
        for worker in chosen:
            if worker in self._processes:
                self._end(worker)
            self._dead.pop(worker, None)
            self._processes[worker] = WorkerProcess(self.memory, self._logs[worker])
        self.ask({worker: (kinds.START, self._jobs[worker]) for worker in chosen})

    def ask(self, requests: Mapping[int, tuple[bytes, bytes]]) -> None:
        """Send requests, kind and payload, to some workers; `gather` waits for their answers."""
        self._ticket += 1
        self._answers.clear()
        self._waiting.clear()
        deadline = time.monotonic() + _SENDING
        for worker, (kind, payload) in requests.items():
            if worker in self._dead:
                self._answers[worker] = self._dead[worker]
                continue
            message = Message(self._ticket, kind, payload)
            try:
                self._processes[worker].channel.send(message, deadline)
            except EOFError:
                self._died(worker)
            except TimeoutError:
                self._hangs(worker, _SENDING)
            else:
                self._waiting.append(worker)

    def gather(self, timeout: float, beats: NDArray[np.int64] | None = None) -> dict[int, Answer]:
        """Wait for all answers to the last requests.

        A worker that fails, or says nothing for so long, is ended with its process group.

        Args:
            timeout: seconds; `inf` waits for ever
            beats: [workers] a worker whose number has grown when its time is up gets as long again
        """
        deadline = time.monotonic() + timeout
        seen = None if beats is None else beats.copy()
        while self._waiting:
            # One after another: the others answer meanwhile. Waking for whichever comes first would
            # take the processor from those that still step.
            worker = self._waiting[0]
            try:
                self._read(worker, deadline)
            except EOFError:
                self._died(worker)
            except TimeoutError:
                if beats is None or seen is None or beats[worker] == seen[worker]:
                    self._hangs(worker, timeout)
                else:
                    deadline, seen = time.monotonic() + timeout, beats.copy()
        return dict(self._answers)

    def close(self) -> None:
        """End all workers, after asking them to close their environments; again does nothing."""
        # A fork of the process that made it must not end what is not its own.
        if self.closed or os.getpid() != self._owner:
            return
        self.closed = True
        for process in self._processes.values():
            with suppress(EOFError, TimeoutError):  # ended below all the same
                process.channel.send(Message(self._ticket, kinds.CLOSE, b""), deadline=0.0)
        end_all(list(self._processes.values()), _CLOSING)
        for log in self._logs:
            log.close()
        os.close(self.memory)

    def _read(self, worker: int, deadline: float) -> None:
        """Wait for what a worker says next."""
        process = self._processes[worker]
        while True:
            try:
                message = process.channel.receive(min(deadline, time.monotonic() + _LOOK_AGAIN))
                break
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise
                # Where an environment has forked, the fork may hold the channel open.
                if process.is_over():
                    raise EOFError("the worker is gone") from None
        if message.kind == kinds.FAILED:
            self._failed(worker, *pickle.loads(message.payload))
        elif message.ticket == self._ticket:
            self._waiting.remove(worker)
            mistake = message.kind == kinds.MISTAKE
            self._answers[worker] = (
                WoodshedError(message.payload.decode()) if mistake else message.payload
            )

    def _failed(self, worker: int, summary: str, report: str) -> None:
        self._processes[worker].wait(_CLOSING)  # it closes its environments
        self._end(worker)
        self._note(worker, summary, report)

    def _died(self, worker: int) -> None:
        how = self._end(worker)
        self._note(worker, how, self._with_log(worker, how))

    def _hangs(self, worker: int, seconds: float) -> None:
        self._processes[worker].say_where()
        self._end(worker)
        summary = f"no answer within {seconds:g} s"
        self._note(worker, summary, self._with_log(worker, summary))

    def _note(self, worker: int, summary: str, report: str) -> None:
        if worker in self._waiting:
            self._waiting.remove(worker)
        failure = Failure(worker, self.lanes[worker], summary, report)
        self._dead[worker] = self._answers[worker] = failure

    def _with_log(self, worker: int, summary: str) -> str:
        return "\n".join(filter(None, (summary, self._logs[worker].tail())))

    def _end(self, worker: int) -> str:
        return self._processes.pop(worker).kill()
