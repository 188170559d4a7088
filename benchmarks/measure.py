"""Clocks, memory and the one line of JSON that every worker prints.

Imported in every peer's environment: numpy only.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import NamedTuple

KIBIBYTE = 1024


class Measurement(NamedTuple):
    """One measured number: what, of a buffer how large, with how many environments."""

    what: str
    transitions: int
    n_envs: int
    value: float


def median_seconds(call: Callable[[], object], *, calls: int, warm_up: int = 20) -> float:
    """Median wall time of one call in seconds, each call timed alone."""
    for _ in range(warm_up):
        call()
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def resident_bytes() -> int:
    """This process's resident set, from the kernel (VmRSS)."""
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * KIBIBYTE


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Installed versions of the named packages."""
    return {package: metadata.version(package) for package in packages}


def print_result(measurements: Sequence[Measurement], packages: Sequence[str]) -> None:
    """Print the worker's result as one line of JSON, the last line of its output."""
    print(json.dumps({"versions": versions(packages), "measurements": measurements}), flush=True)
