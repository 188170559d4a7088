"""What a saved replay is: a folder of arrays, and a JSON file that says what they are.

The records lie in `records-<lane>-<first row>-….npy`, see `segments`. In `priorities-….npy` lies
what the sum-tree holds of the stored rows of all lanes, each lane from its oldest row on;
`episodes-….npy` says which of these rows are one episode. The names end differently at each save,
and `replay.json`, which is renamed into place last, lists the files that count: so a crash at any
moment leaves what was saved before. Files that an earlier save wrote may be listed again, or be
links to those of another folder; nobody may change them in place.

No file is read before its checksum is found to be right, `replay.json` by one of its own, and no
number is relied on before it is found to have a meaning: loading a stranger's folder runs no code.
"""

import re
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from woodshed.errors import WoodshedError
from woodshed.files import aside_pattern, damaged, read_sealed, sealed_text
from woodshed.replay.segments import Segment, is_count, read_segments

FORMAT, VERSION = "woodshed replay", 2
ABOUT, EPISODES, LEAVES = "replay.json", "episodes", "priorities"
ARRAY_NAME = re.compile(rf"({EPISODES}|{LEAVES})-[0-9a-f]{{8}}\.npy")
ASIDE_NAME = aside_pattern("replay", r"\.json")
"""What a crash can leave of `replay.json` while it is written."""

LANE, ROWS, FIRST_STEP, HIDDEN, ENDING, IS_OPEN = range(6)
"""Columns of `episodes.npy`: lane, number of rows, steps of the episode before the first of them,
how many of them cannot be sampled for want of earlier frames, bits of its ending, open or not."""


@dataclass(frozen=True)
class About:
    """What `replay.json` holds, beside its checksum."""

    fields: list[list[Any]]
    """Name, shape and dtype of each leaf, in the order of the record."""
    newest: list[int]
    """Number of the newest row of each lane."""
    capacity: int
    """That the replay was made for; it may hold more, see `ReplayBuffer.load`."""
    rows_per_lane: int
    alpha: float | None
    """Exponent of the priorities; None without."""
    largest_priority: float
    written: int
    """Transitions that were written in all."""
    stale_priorities: int
    generator: dict[str, Any]
    """State of the bit generator."""
    segments: list[Segment]
    """Lane by lane, oldest first."""
    checksums: dict[str, int]
    """CRC-32 of the file of each other array, by its name."""
    format: str = FORMAT
    version: int = VERSION

    def name_of(self, array: str) -> str:
        """Name of the file of an array that is not in segments."""
        return next(name for name in self.checksums if name.startswith(f"{array}-"))

    def files(self) -> set[str]:
        """Names of all files that count."""
        return {ABOUT, *self.checksums, *(segment.file for segment in self.segments)}

    def stored_rows(self, lane: int) -> range:
        """Numbers of the rows that a lane held."""
        end = self.newest[lane] + 1
        return range(max(0, end - self.rows_per_lane), end)

    def as_text(self) -> str:
        """What is written to `replay.json`."""
        return sealed_text(asdict(self))


def read_about(folder: Path) -> About:
    """Read `replay.json`.

    Raises:
        WoodshedError: when it is missing, damaged, or of something else; the message names it.
    """
    path = folder / ABOUT
    if not folder.is_dir():
        raise WoodshedError(f"{folder} is no folder of a saved replay")
    data = read_sealed(path)
    if data.get("format") != FORMAT:
        raise WoodshedError(f"{path} is not of a saved replay")
    if data.get("version") != VERSION:
        raise WoodshedError(
            f"{path} has the format version {data.get('version')!r}; this Woodshed reads {VERSION}"
        )
    if data.keys() != {field.name for field in fields(About)}:
        raise damaged(path, "its keys are others")
    about = About(**data)
    _check(path, about)
    segments = read_segments(path, about.segments, about.newest, about.rows_per_lane)
    return replace(about, segments=segments)


def _check(path: Path, about: About) -> None:
    """Check that what the file says has a meaning, whatever the arrays are, segments apart.

    Raises:
        WoodshedError: where it has none.
    """
    if not isinstance(about.newest, list) or not about.newest:
        raise damaged(path, "it has no lanes")
    if not all(type(newest) is int and is_count(newest + 1) for newest in about.newest):
        raise damaged(path, "a row's number is none")
    for name in ("capacity", "rows_per_lane", "written", "stale_priorities"):
        if not is_count(getattr(about, name)):
            raise damaged(path, f"{name} is no count")
    # The largest priority is 1 at first and never sinks.
    for name, least in (("largest_priority", 1.0), ("alpha", 0.0)):
        value = getattr(about, name)
        if value is None and name == "alpha":
            continue
        if type(value) not in (int, float) or not least <= value <= sys.float_info.max:
            raise damaged(path, f"{name} is none")
    if not isinstance(about.fields, list):
        raise damaged(path, "it has no fields")
    expected = {EPISODES} | ({LEAVES} if about.alpha is not None else set())
    sums = about.checksums if isinstance(about.checksums, dict) else {}
    found = [match[1] for name in sums if (match := ARRAY_NAME.fullmatch(name))]
    if sorted(found) != sorted(expected) or len(found) != len(sums):
        raise damaged(path, "it names other files")
