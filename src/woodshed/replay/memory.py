"""How much memory there is, asked before it is taken."""

import os
from pathlib import Path

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
