"""The worker process: it steps its lanes when the vector asks."""

import faulthandler
import pickle
import signal
import socket
import traceback
from typing import Any

import cloudpickle

from woodshed.envs.in_process import InProcessVector
from woodshed.envs.trees import take_rows, write_rows
from woodshed.envs.workers import channel as kinds
from woodshed.envs.workers.block import Block, Spaces, map_memory
from woodshed.envs.workers.channel import Channel, Message
from woodshed.envs.workers.job import Job
from woodshed.envs.workers.joined_info import packed
from woodshed.envs.workers.lifeline import hang_on
from woodshed.errors import WoodshedError


def main(channel: int, lifeline: int, memory: int) -> None:
    """Serve the vector at the other end of the channel until it says so or is gone.

    Args:
        channel: file descriptor of a socket
        lifeline: of the read end of a pipe
        memory: of the shared memory
    """
    hang_on(lifeline)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending is the vector's to say
    faulthandler.enable()
    _serve(Channel(socket.socket(fileno=channel), blocking=True), memory)


def _serve(channel: Channel, memory: int) -> None:
    lanes: Lanes | None = None
    try:
        while True:
            try:
                request = channel.receive()
            except EOFError:
                return
            if request.kind == kinds.CLOSE:
                return
            kind, answer = kinds.DONE, b""
            try:
                if lanes is None:
                    lanes = Lanes(cloudpickle.loads(request.payload), memory)
                    answer = cloudpickle.dumps(lanes.spaces)
                else:
                    answer = lanes.answer(request)
            except WoodshedError as error:
                kind, answer = kinds.MISTAKE, str(error).encode(errors="replace")
            except BaseException as error:  # whatever it is, it must not end a run
                kind, answer = kinds.FAILED, pickle.dumps(described(error))
            channel.send(Message(request.ticket, kind, answer))
            if kind == kinds.FAILED:
                return
    finally:
        if lanes is not None:
            lanes.close()


class Lanes:
    """The lanes of one worker, and their rows of the shared memory."""

    def __init__(self, job: Job, memory: int) -> None:
        """Make the environments."""
        self._vector = InProcessVector(
            job.envs, job.run_seed, job.info_keys, job.first_episodes, first_lane=job.first_lane
        )
        self.spaces = Spaces(self._vector.observation_space, self._vector.action_space)
        self._job = job
        self._memory = memory
        self._mapped: Block | None = None

    def answer(self, request: Message) -> bytes:
        """Do what is asked; what does not lie in the shared memory is returned."""
        if request.kind == kinds.STEP:
            return self._step()
        if request.kind == kinds.BEGIN:
            self._begin(*pickle.loads(request.payload))
            return b""
        assert request.kind == kinds.REMAKE, request.kind
        return self._remake(*pickle.loads(request.payload))

    def close(self) -> None:
        """Close the environments."""
        self._vector.close()

    def _step(self) -> bytes:
        block = self._block()
        return packed(self._vector.step_into(block.action, block.step))

    def _begin(self, mask: Any, episodes: list[int]) -> None:
        for row in mask.nonzero()[0]:
            self._vector.environments[row].next_episode = episodes[row]
        first = self._vector.begin(mask)
        write_rows(self._block().step.observation, mask, take_rows(first, mask))

    def _remake(self, episodes: list[int], actions: list[Any]) -> bytes:
        beats, worker = self._block().beats, self._job.worker

        def beat() -> None:
            beats[worker] += 1

        remade = self._vector.remake(episodes, actions, after_step=beat, raise_failures=True)
        return pickle.dumps(remade)

    def _block(self) -> Block:
        """This worker's rows; with the first request after the start the memory has its size."""
        if self._mapped is None:
            job = self._job
            whole = map_memory(self._memory, self.spaces, job.n_lanes, job.workers)
            rows = slice(job.first_lane, job.first_lane + len(job.envs))
            self._mapped = Block(whole.action[rows], whole.step.part(rows), whole.beats)
        return self._mapped


def described(error: BaseException) -> tuple[str, str]:
    """Summary and report of an exception, as text: it may be one that nobody else can read."""
    try:
        message = " ".join(str(error).split())
    except BaseException as fault:
        message = f"(its message cannot be read: {type(fault).__name__})"
    name = type(error).__qualname__
    summary = f"{name}: {message:.200}" if message else name
    try:
        report = "".join(traceback.format_exception(error)).rstrip()
    except BaseException as fault:
        report = f"{summary}\n(its traceback cannot be written: {type(fault).__name__})"
    return summary, report
