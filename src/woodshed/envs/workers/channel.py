"""Messages between a vector and its worker: a request, then its answer."""

import math
import select
import socket
import struct
import time
from typing import NamedTuple

_HEADER = struct.Struct("<QQc")
"""Length of the payload, ticket, kind."""

_CHUNK = 4096
"""Most messages are smaller, and come with one call."""

# Kinds of requests.
START = b"s"
STEP = b"t"
BEGIN = b"b"
REMAKE = b"r"
CLOSE = b"c"

# Kinds of answers.
DONE = b"d"
MISTAKE = b"m"
"""A WoodshedError; the payload is its message."""
FAILED = b"f"
"""Anything else that was raised; the payload is the summary and the report, pickled."""


class Message(NamedTuple):
    """One request or answer."""

    ticket: int
    """An answer has that of its request."""
    kind: bytes
    payload: bytes


class Channel:
    """One end of a connected pair of sockets.

    A receive that is interrupted or runs out of time goes on where it was when it is called again.
    """

    def __init__(self, connected: socket.socket, *, blocking: bool = False) -> None:
        """Take over a socket.

        Args:
            connected: the socket, which `close` closes
            blocking: whether the kernel is to wait at once, without a deadline, where there is
                nothing; that saves the worker two calls of three. The vector tries first: most
                answers of a step are there already
        """
        connected.setblocking(blocking)
        self._socket = connected
        self._arrived = b""
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(connected, select.POLLIN)
        self._writable.register(connected, select.POLLOUT)

    def send(self, message: Message, deadline: float = math.inf) -> None:
        """Send one message.

        Args:
            message: the message
            deadline: of `time.monotonic()`

        Raises:
            EOFError: the other end is gone.
            TimeoutError: it does not read.
        """
        data = _HEADER.pack(len(message.payload), message.ticket, message.kind) + message.payload
        sent = 0
        while sent < len(data):
            try:
                sent += self._socket.send(memoryview(data)[sent:] if sent else data)
            except BlockingIOError:
                _wait(self._writable, deadline)
            except ConnectionError as error:
                raise EOFError("the other end is gone") from error

    def receive(self, deadline: float = math.inf) -> Message:
        """Wait for one message.

        Args:
            deadline: of `time.monotonic()`

        Raises:
            EOFError: the other end is gone.
            TimeoutError: the message does not come.
        """
        self._read_up_to(_HEADER.size, deadline)
        length, ticket, kind = _HEADER.unpack_from(self._arrived)
        self._read_up_to(_HEADER.size + length, deadline)
        end = _HEADER.size + length
        payload, self._arrived = self._arrived[_HEADER.size : end], self._arrived[end:]
        return Message(ticket, kind, payload)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read_up_to(self, size: int, deadline: float) -> None:
        while (missing := size - len(self._arrived)) > 0:
            try:
                chunk = self._socket.recv(max(missing, _CHUNK))
            except BlockingIOError:
                _wait(self._readable, deadline)
                continue
            except ConnectionError as error:
                raise EOFError("the other end is gone") from error
            if not chunk:
                raise EOFError("the other end is gone")
            self._arrived += chunk


def _wait(poll: "select.poll", deadline: float) -> None:
    if deadline == math.inf:
        poll.poll()
    elif not poll.poll(max(0, math.ceil(1000 * (deadline - time.monotonic())))):
        raise TimeoutError("nothing came in time")
