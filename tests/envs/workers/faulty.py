"""Environments that fail when they are told to."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class LockedError(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


def hang() -> NoReturn:
    while True:
        pass


def exit_with_words() -> NoReturn:
    os.write(2, b"the simulator says goodbye\n")
    os._exit(3)


def leave_a_fork_and_die() -> None:
    """The fork holds the worker's end of the channel open."""
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def throw(error: BaseException) -> NoReturn:
    raise error


FAULTS: dict[str, Callable[[], object]] = {
    "none": lambda: None,
    "raise": lambda: throw(RuntimeError("the motor is on fire")),
    "no arguments": lambda: throw(KeyError()),
    "unspeakable": lambda: throw(UnspeakableError()),
    "not picklable": lambda: throw(LockedError()),
    "system exit": lambda: throw(SystemExit(4)),
    "interrupt": lambda: throw(KeyboardInterrupt()),
    "exit": exit_with_words,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda: ctypes.string_at(0),
    "fork": leave_a_fork_and_die,
    "hang": hang,
}
NUMBERS = {name: number for number, name in enumerate(FAULTS)}


class Faulty(gymnasium.Env[Any, Any]):
    """A random walk of `length` steps; the action [push, fault] says how the step fails.

    `resets` has for some seeds how the reset with them fails.
    """

    def __init__(self, length: int = 5, resets: dict[int, str] | None = None) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Box(0, len(FAULTS), (2,), np.float32)
        self.length = length
        self.resets = resets or {}
        self.position = np.zeros(2)
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        super().reset(seed=seed)
        FAULTS[self.resets.get(seed or 0, "none")]()
        self.position = self.np_random.normal(size=2)
        self.time = 0
        return self.position.copy(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        list(FAULTS.values())[int(action[1])]()
        self.position = self.position + action[0] + self.np_random.normal(size=2)
        self.time += 1
        over = self.time == self.length
        info = {"pid": os.getpid(), "height": self.position[0]}
        return self.position.copy(), float(self.position[1]), over, False, info


def actions(n: int, faults: dict[int, str] | None = None, push: float = 0.0) -> NDArray[np.float32]:
    """[n, 2] actions; `faults` says which lanes fail and how."""
    action = np.full((n, 2), push, np.float32)
    action[:, 1] = 0
    for lane, fault in (faults or {}).items():
        action[lane, 1] = NUMBERS[fault]
    return action


def is_gone(pid: int) -> bool:
    """Whether a process has ended (where it was not ours, init may be slow to bury it)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def made_once(mark: Path) -> Callable[[], Faulty]:
    """A function that makes an environment once, and a file that says so; then it raises."""

    def make() -> Faulty:
        if mark.exists():
            raise RuntimeError("made before")
        mark.touch()
        return Faulty()

    return make
