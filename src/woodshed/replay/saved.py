"""What a saved replay is: a folder of arrays, and a JSON file that says what they are.

The rows of all lanes lie one after the other, each lane from its oldest row on: in `records-….npy`
the records, in `priorities-….npy` what the sum-tree holds of them. `episodes-….npy` says which rows
are one episode. The names end differently at each save, and `replay.json`, which is renamed into
place last, says which files count: so a crash at any moment leaves what was saved before.

No file is read before its checksum is found to be right, and no number is relied on before it is
found to have a meaning: loading a stranger's folder runs no code.
"""

import re
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.files import read_json

FORMAT, VERSION = "woodshed replay", 1
ABOUT, RECORDS, EPISODES, LEAVES = "replay.json", "records", "episodes", "priorities"
ARRAY_NAME = re.compile(rf"({RECORDS}|{EPISODES}|{LEAVES})-[0-9a-f]{{8}}\.npy")
ASIDE_NAME = re.compile(r"\.replay\.[0-9a-f]{8}\.json")
"""What a crash can leave of `replay.json` while it is written."""

LANE, ROWS, FIRST_STEP, HIDDEN, ENDING, IS_OPEN = range(6)
"""Columns of `episodes.npy`: lane, number of rows, steps of the episode before the first of them,
how many of them cannot be sampled for want of earlier frames, bits of its ending, open or not."""

CHUNK = 2**24  # bytes read at a time


@dataclass(frozen=True)
class About:
    """What `replay.json` holds."""

    fields: list[list[Any]]
    """Name, shape and dtype of each leaf, in the order of the record."""
    newest: list[int]
    """Number of the newest row of each lane."""
    rows_per_lane: int
    alpha: float | None
    """Exponent of the priorities; None without."""
    largest_priority: float
    written: int
    """Transitions that were written in all."""
    stale_priorities: int
    generator: dict[str, Any]
    """State of the bit generator."""
    checksums: dict[str, int]
    """CRC-32 of each array's file, by its name."""
    format: str = FORMAT
    version: int = VERSION

    def name_of(self, array: str) -> str:
        """Name of the file of an array."""
        return next(name for name in self.checksums if name.startswith(f"{array}-"))

    def as_json(self) -> dict[str, Any]:
        """For `write_json`."""
        return asdict(self)


def read_about(folder: Path) -> About:
    """Read `replay.json`.

    Raises:
        WoodshedError: when it is missing, damaged, or of something else; the message names it.
    """
    path = folder / ABOUT
    if not folder.is_dir():
        raise WoodshedError(f"{folder} is no folder of a saved replay")
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise WoodshedError(f"{path} is not of a saved replay")
    if data.get("version") != VERSION:
        raise WoodshedError(
            f"{path} has the format version {data.get('version')!r}; this Woodshed reads {VERSION}"
        )
    if data.keys() != {field.name for field in fields(About)}:
        raise damaged(path, "its keys are others")
    about = About(**data)
    _check(path, about)
    return about


def _check(path: Path, about: About) -> None:
    """Check that what the file says has a meaning, whatever the arrays are.

    Raises:
        WoodshedError: where it has none.
    """
    if not isinstance(about.newest, list) or not about.newest:
        raise damaged(path, "it has no lanes")
    if not all(type(newest) is int and _is_count(newest + 1) for newest in about.newest):
        raise damaged(path, "a row's number is none")
    for name in ("rows_per_lane", "written", "stale_priorities"):
        if not _is_count(getattr(about, name)):
            raise damaged(path, f"{name} is no count")
    # The largest priority is 1 at first and never sinks.
    for name, least in (("largest_priority", 1.0), ("alpha", 0.0)):
        value = getattr(about, name)
        if value is None and name == "alpha":
            continue
        if type(value) not in (int, float) or not least <= value < float("inf"):
            raise damaged(path, f"{name} is none")
    if not isinstance(about.fields, list):
        raise damaged(path, "it has no fields")
    expected = {RECORDS, EPISODES} | ({LEAVES} if about.alpha is not None else set())
    sums = about.checksums if isinstance(about.checksums, dict) else {}
    found = [match[1] for name in sums if (match := ARRAY_NAME.fullmatch(name))]
    if sorted(found) != sorted(expected) or len(found) != len(sums):
        raise damaged(path, "it names other files")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def read_array(folder: Path, name: str, about: About, dtype: str, ndim: int) -> NDArray[Any]:
    """Map an array, once its checksum is found to be right.

    Raises:
        WoodshedError: when it is missing, damaged, or of something else; the message names it.
    """
    path = folder / about.name_of(name)
    if not path.is_file():
        raise WoodshedError(f"{path} is missing")
    if checksum(path) != about.checksums[path.name]:
        raise damaged(path, "its checksum is another")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises several kinds for foreign bytes
        raise damaged(path, str(error)) from None
    if array.dtype != np.dtype(dtype) or array.ndim != ndim or not array.flags.c_contiguous:
        raise damaged(path, f"it holds {array.ndim} axes of {array.dtype}")
    return array


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    value = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            value = zlib.crc32(chunk, value)
    return value


def damaged(path: Path, why: str) -> WoodshedError:
    """The error for a file that is not what was written."""
    return WoodshedError(f"{path} is damaged: {' '.join(why.split())}")
