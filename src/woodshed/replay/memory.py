"""How much memory there is, asked before it is taken."""

import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from woodshed.errors import WoodshedError


def available_bytes() -> int:
    """Bytes that this process could still take: the machine's, or its container's if less."""
    limits = [_machine_available()]
    group = Path("/sys/fs/cgroup")
    limit, used = _read_number(group / "memory.max"), _read_number(group / "memory.current")
    if limit is not None and used is not None:
        limits.append(limit - used)
    return min(limits)


def check_fits(needed: int, what: str) -> None:
    """Refuse at once what cannot fit.

    Raises:
        WoodshedError: when `needed` bytes are more than there are.
    """
    available = available_bytes()
    if needed > available:
        raise WoodshedError(
            f"{what} takes {format_bytes(needed)}, but only {format_bytes(available)} of memory "
            "are available: lower the capacity"
        )


def check_disk(needed: int, folder: Path, what: str) -> None:
    """Refuse at once what the disk has no room for.

    Raises:
        WoodshedError: when `needed` bytes are more than are free there.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise WoodshedError(
            f"{what} takes {format_bytes(needed)}, but only {format_bytes(free)} are free in "
            f"{folder}: lower the capacity"
        )


def empty_array(
    shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None, what: str
) -> NDArray[Any]:
    """An array in memory; or in a scratch file of a folder, which goes with the array.

    Args:
        shape: of the array.
        dtype: of its items.
        folder: made where needed; None for memory.
        what: it is for, in messages.

    Raises:
        WoodshedError: when the folder is none, or its disk has no room.
    """
    if folder is None:
        return np.empty(shape, dtype)
    needed = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_disk(needed, folder, what)
        # A file without a name: nothing is left of it, however this process ends.
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # else a disk that fills up would end the process
                os.posix_fallocate(file.fileno(), 0, needed)
            mapped = np.memmap(file, dtype, "r+" if needed else "w+", shape=shape)
    except OSError as error:
        raise WoodshedError(f"{what} cannot be stored in {folder}: {error}") from None
    array: NDArray[Any] = np.asarray(mapped)
    return array


def format_bytes(count: int) -> str:
    """`1_536_000` as `1.5 MB`."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _machine_available() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) * 1024
    except OSError:
        pass  # not Linux: the whole of the memory is the best bound there is
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such limit, or the word "max"
        return None
