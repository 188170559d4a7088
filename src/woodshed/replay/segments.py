"""Segments: the files in which the records of a saved replay lie, and which of them can stay.

Segment s of a lane has its rows s * S to (s + 1) * S - 1, as far as they are stored. A row never
changes once there is a newer one in its lane (the newest one may still get its action). So a
segment whose last row is older than the newest one is *complete*: its file is right for good, and
later saves link to it instead of writing it again. It may go on to hold rows that meanwhile are
overwritten in the ring; nobody asks for them.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.files import damaged
from woodshed.replay.array_files import array_bytes, write_array
from woodshed.replay.store import Store, stored_rows

RECORDS = "records"
SEGMENT_NAME = re.compile(rf"{RECORDS}-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-[0-9a-f]{{8}}\.npy")
"""Lane and first row, so that each file says what it is, and an ending for each save."""

SEGMENT_BYTES = 2**20
"""Of a segment at least, unless one record is longer: its rows are the next power of two."""
MOST_SEGMENTS = 1000
"""Segments are longer where a full replay would have more, but for up to two more in each lane."""


@dataclass(frozen=True)
class Segment:
    """A file with rows of one lane that follow one another, as `replay.json` lists it."""

    file: str
    lane: int
    first_row: int
    rows: int
    checksum: int
    """CRC-32 of the file."""

    @property
    def end(self) -> int:
        """Number of the row after its last one."""
        return self.first_row + self.rows


@dataclass(frozen=True)
class OnDisk:
    """What a buffer remembers of its last save, or of the one it was loaded from."""

    folders: tuple[Path, ...] = ()
    """Where the files may lie; absolute."""
    segments: tuple[Segment, ...] = ()
    """The complete ones."""


class Made(NamedTuple):
    """Files that a save has made so far, and that go where it fails."""

    written: list[Path]
    linked: list[Path]


def remember(folder: Path, segments: list[Segment], newest: list[int]) -> OnDisk:
    """Keep in mind the complete segments of a save.

    Args:
        folder: of the save.
        segments: all of them.
        newest: number of the newest row of each lane.
    """
    complete = [segment for segment in segments if segment.end <= newest[segment.lane]]
    return OnDisk((folder.absolute(),), tuple(complete))


def segment_rows(record_bytes: int, lanes: int, rows_per_lane: int) -> int:
    """S: a power of two, see `SEGMENT_BYTES` and `MOST_SEGMENTS`."""
    least = max(SEGMENT_BYTES, record_bytes * lanes * rows_per_lane // MOST_SEGMENTS)
    return 1 << (-(-least // record_bytes) - 1).bit_length()


def spans(stored: range, size: int) -> Iterator[range]:
    """The numbers of the stored rows of a lane, segment by segment."""
    for start in range(stored.start // size * size, stored.stop, size):
        yield range(max(stored.start, start), min(stored.stop, start + size))


def write_segments(
    folder: Path, store: Store, ending: str, on_disk: OnDisk, made: Made
) -> list[Segment]:
    """Write the records of all lanes, but for what lies on the disk already.

    Args:
        folder: to write to.
        store: only read.
        ending: of the names of new files.
        on_disk: complete segments of the same rows.
        made: gets the paths of the files.

    Returns:
        All segments, lane by lane, oldest first.
    """
    lanes, rows_per_lane, words = store.words.shape
    size = segment_rows(words * store.words.itemsize, lanes, rows_per_lane)
    known = {(old.lane, old.end): old for old in on_disk.segments}
    segments = []
    for lane, ring in enumerate(store.words):
        for rows in spans(stored_rows(store.episodes, lane), size):
            old = known.get((lane, rows.stop))
            # With these rows, and with none of the segment before.
            fits = old is not None and rows.start // size * size <= old.first_row <= rows.start
            if old and fits and _reuse(old, on_disk.folders, folder, ring, made):
                segments.append(old)
                continue
            path = folder / f"{RECORDS}-{lane}-{rows.start}-{ending}.npy"
            made.written.append(path)
            checksum = write_array(path, ring_pieces(ring, rows))
            segments.append(Segment(path.name, lane, rows.start, len(rows), checksum))
    return segments


def _reuse(
    old: Segment, sources: Sequence[Path], folder: Path, ring: NDArray[np.uint32], made: Made
) -> bool:
    """Have a segment that lies in some folder in another one too; whether that could be done."""
    size, here = array_bytes(ring.dtype, (old.rows, *ring.shape[1:])), folder / old.file
    for source in sources:
        try:
            if not (here.exists() and here.samefile(source / old.file)):
                os.link(source / old.file, here)
                made.linked.append(here)
            if here.stat().st_size == size:
                return True
        except OSError:  # it is not there, on another disk, or on one without links
            continue
    return False


def ring_pieces(ring: NDArray[Any], rows: range) -> list[NDArray[Any]]:
    """What a ring `[R, …]` holds of stored rows, by their numbers: one view or two, in order."""
    if not rows:
        return [ring[:0]]
    start, end = rows.start % len(ring), (rows.stop - 1) % len(ring) + 1
    return [ring[start:end]] if start < end else [ring[start:], ring[:end]]


def is_count(value: object) -> bool:
    """Whether what a file says can be a number of something."""
    return type(value) is int and 0 <= value < 2**62


def read_segments(
    path: Path, listed: object, newest: list[int], rows_per_lane: int
) -> list[Segment]:
    """Check the list of segments in `replay.json`: each stored row must be in exactly one.

    Args:
        path: of the file.
        listed: what it says.
        newest: number of the newest row of each lane.
        rows_per_lane: of its replay.

    Raises:
        WoodshedError: where it has no meaning.
    """
    if not isinstance(listed, list):
        raise damaged(path, "it lists no segments")
    segments = [_read_segment(path, item) for item in listed]
    left = segments[::-1]
    for lane, last in enumerate(newest):
        oldest = row = max(0, last + 1 - rows_per_lane)
        while row <= last:
            segment = left.pop() if left else None
            if segment is None or segment.lane != lane or not _goes_on(segment, row, oldest, last):
                found = "the list ends" if segment is None else f"there is {segment.file}"
                raise damaged(path, f"where row {row} of lane {lane} should follow, {found}")
            row = segment.end
    if left:
        raise damaged(path, f"{left[-1].file} is none of its segments")
    return segments


def _goes_on(segment: Segment, row: int, oldest: int, newest: int) -> bool:
    """Whether a segment goes on with a row; the first one may begin with overwritten ones."""
    begins = segment.first_row == row or segment.first_row < row == oldest
    return begins and row < segment.end <= newest + 1


def _read_segment(path: Path, item: object) -> Segment:
    if not isinstance(item, dict) or item.keys() != {field.name for field in fields(Segment)}:
        raise damaged(path, "a segment has other keys")
    segment = Segment(**item)
    match = SEGMENT_NAME.fullmatch(segment.file) if isinstance(segment.file, str) else None
    if not match or match.groups() != (str(segment.lane), str(segment.first_row)):
        raise damaged(path, f"{segment.file!r} is no name of a segment")
    counts = segment.lane, segment.first_row, segment.rows, segment.checksum
    if not all(map(is_count, counts)) or segment.rows == 0:
        raise damaged(path, f"it has no counts of {segment.file}")
    return segment
