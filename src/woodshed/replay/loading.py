"""Loading: reading a saved replay, and checking all of it before anything relies on it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.files import damaged, generator_of
from woodshed.replay.array_files import map_array, read_array
from woodshed.replay.records import RecordLayout
from woodshed.replay.saved import (
    ABOUT,
    ENDING,
    EPISODES,
    FIRST_STEP,
    HIDDEN,
    IS_OPEN,
    LANE,
    LEAVES,
    ROWS,
    About,
    read_about,
)
from woodshed.replay.saving import describe
from woodshed.replay.store import ENDING_MASK, LONGEST


class Saved(NamedTuple):
    """A saved replay whose every part was found to be right."""

    folder: Path
    about: About
    episodes: NDArray[np.int64]
    """`[episodes, 6]`, see `saved`."""
    leaves: NDArray[np.float64] | None
    """`[rows]`, what the sum-tree held; None without priorities."""
    generator: np.random.Generator


def read_saved(folder: Path, layout: RecordLayout) -> Saved:
    """Read a saved replay, and check all of it.

    Raises:
        WoodshedError: when a file is missing or damaged, or of other spaces.
    """
    about = read_about(folder)
    if about.fields != describe(layout):
        raise WoodshedError(
            f"{folder} was saved with other spaces: {_difference(about.fields, describe(layout))}"
        )
    for segment in about.segments:
        path = folder / segment.file
        shape = read_array(path, segment.checksum, "<u4", 2).shape
        if shape != (segment.rows, layout.words):
            raise damaged(path, f"it holds {shape[0]} records of {shape[1]} words")
    rows = sum(len(about.stored_rows(lane)) for lane in range(len(about.newest)))
    path = folder / about.name_of(EPISODES)
    episodes = read_array(path, about.checksums[path.name], "<i8", 2)
    leaves = None
    if about.alpha is not None:
        path = folder / about.name_of(LEAVES)
        leaves = read_array(path, about.checksums[path.name], "<f8", 1)
        if len(leaves) != rows or not (np.isfinite(leaves) & (leaves >= 0)).all():
            raise damaged(path, "these are no priorities")
    _check_episodes(folder, about, episodes, rows)
    return Saved(folder, about, episodes, leaves, generator_of(about.generator, folder / ABOUT))


def saved_records(saved: Saved) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """The records of the stored rows of all lanes, segment by segment, in the order of the lanes.

    Yields:
        How many rows were before, and records `[rows, words]`, mapped. Only one file is mapped at
        a time, since each takes one of the files that a process may have open.

    Raises:
        WoodshedError: when a file is not any more what it was when it was read.
    """
    before = 0
    for segment in saved.about.segments:
        path = saved.folder / segment.file
        words = map_array(path, "<u4", 2)
        if len(words) != segment.rows:
            raise damaged(path, "it was changed meanwhile")
        overwritten = max(0, saved.about.stored_rows(segment.lane).start - segment.first_row)
        yield before, words[overwritten:]
        before += segment.rows - overwritten


def _check_episodes(folder: Path, about: About, table: NDArray[np.int64], rows: int) -> None:
    """Check that the table has a meaning: the kernels rely on it."""
    path = folder / about.name_of(EPISODES)
    if table.shape[1] != 6:
        raise damaged(path, f"it has {table.shape[1]} columns")
    lane, length, ending, is_open = (table[:, i] for i in (LANE, ROWS, ENDING, IS_OPEN))
    last = np.append(lane[1:] != lane[:-1], True)[: len(lane)]
    meant = (
        np.all(np.diff(lane) >= 0)
        and np.all((lane >= 0) & (lane < len(about.newest)))
        and np.all((length >= 1) & (length <= rows))
        and int(length.sum()) == rows
        and np.all((table[:, FIRST_STEP] >= 0) & (table[:, FIRST_STEP] < LONGEST))
        and np.all((table[:, HIDDEN] >= 0) & (table[:, HIDDEN] < length))
        and np.all((ending >= 0) & (ending <= ENDING_MASK))
        and np.all((is_open == 0) | ((is_open == 1) & last & (ending == 0) & (length > 1)))
        and np.all((ending > 0) | (is_open == 1) | (length == 1))
    )
    if not meant:
        raise damaged(path, "its numbers have no meaning")
    stored = np.bincount(lane, length, len(about.newest)).astype(np.int64).tolist()
    full = [len(about.stored_rows(i)) for i in range(len(about.newest))]
    if stored != full or about.rows_per_lane >= LONGEST:
        raise damaged(folder / ABOUT, "it counts other rows than there are")


def _difference(theirs: list[list[object]], ours: list[list[object]]) -> str:
    """The first leaf that is not the same, in words."""
    for saved, here in zip(theirs, ours, strict=False):
        if saved != here:
            return f"{saved} there, {here} here"
    longer, where = (theirs, "there") if len(theirs) > len(ours) else (ours, "here")
    return f"{longer[min(len(theirs), len(ours))]} only {where}"
