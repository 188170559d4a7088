"""One writer or several readers: who may use the store at the same time."""

import threading


class Sharing:
    """A lock that readers share and a writer has alone; a waiting writer goes before new readers.

    `with sharing.reading:` and `with sharing.writing:`. Not to be taken again by its holder.
    """

    def __init__(self) -> None:
        self._entry = threading.Lock()  # a writer keeps it while it waits, and so stops new readers
        room = threading.Lock()  # the writer's, or all readers' together
        self.reading = _Reading(self._entry, room)
        self.writing = _Writing(self._entry, room)


class _Reading:
    def __init__(self, entry: threading.Lock, room: threading.Lock) -> None:
        self._entry, self._room = entry, room
        self._counting = threading.Lock()
        self._readers = 0

    def __enter__(self) -> None:
        with self._entry, self._counting:
            if self._readers == 0:
                self._room.acquire()
            self._readers += 1

    def __exit__(self, *error: object) -> None:
        with self._counting:
            self._readers -= 1
            if self._readers == 0:
                self._room.release()


class _Writing:
    def __init__(self, entry: threading.Lock, room: threading.Lock) -> None:
        self._entry, self._room = entry, room

    def __enter__(self) -> None:
        with self._entry:
            self._room.acquire()

    def __exit__(self, *error: object) -> None:
        self._room.release()
