"""Saving: the rows straight from the store into files, without a copy of them."""

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.files import flush, flush_names, folder_path, replaced_file
from woodshed.replay.array_files import write_array
from woodshed.replay.kernel import kernel
from woodshed.replay.records import RecordLayout
from woodshed.replay.saved import ABOUT, ARRAY_NAME, ASIDE_NAME, EPISODES, LEAVES, About
from woodshed.replay.segments import (
    SEGMENT_NAME,
    Made,
    OnDisk,
    remember,
    ring_pieces,
    write_segments,
)
from woodshed.replay.store import (
    ENDING_BITS,
    ENDING_MASK,
    IS_OPEN,
    LEFT,
    NEWEST,
    STEP,
    Store,
    oldest_row,
    place_of,
    stored_rows,
    wrap,
)


def save(
    folder: str | os.PathLike[str],
    store: Store,
    layout: RecordLayout,
    generator: np.random.Generator,
    *,
    on_disk: OnDisk,
    capacity: int,
    alpha: float | None,
    largest_priority: float,
    written: int,
    stale_priorities: int,
) -> OnDisk:
    """Write a replay to a folder, in place of one that was saved there; see `saved`.

    Args:
        folder: made where needed.
        store: only read.
        layout: of its records.
        generator: whose state is kept.
        on_disk: segments of this store that need not be written again.
        capacity: that the replay was made for.
        alpha: exponent of the priorities; None without.
        largest_priority: that was given so far.
        written: transitions that were written in all.
        stale_priorities: that were dropped so far.

    Returns:
        The segments that need not be written again by the next save.

    Raises:
        WoodshedError: for a folder of other files, or one that cannot be written to.
    """
    path, text, made = folder_path(folder), "", Made([], [])
    try:
        _check_folder(path)
        path.mkdir(parents=True, exist_ok=True)
        ending = secrets.token_hex(4)
        about = About(
            fields=describe(layout),
            newest=store.episodes.lanes[:, NEWEST].tolist(),
            capacity=capacity,
            rows_per_lane=store.words.shape[1],
            alpha=alpha,
            largest_priority=largest_priority,
            written=written,
            stale_priorities=stale_priorities,
            generator=dict(generator.bit_generator.state),
            segments=write_segments(path, store, ending, on_disk, made),
            checksums=_write_index(path, store, ending, made, prioritised=alpha is not None),
        )
        for file in made.written:  # the others were flushed when they were written
            flush(file)
        flush_names(path)
        text = about.as_text()
        with replaced_file(path / ABOUT) as aside:
            aside.write_bytes(text.encode())
    except BaseException as error:
        if not text or not _says(path / ABOUT, text):  # Ctrl-C may come when it is there already
            _remove(made.written + made.linked)
        if isinstance(error, OSError):
            raise WoodshedError(f"{path} cannot be saved to: {error.strerror or error}") from None
        raise
    flush_names(path)
    _remove(file for file in _list_files(path) if file.name not in about.files())
    return remember(path, about.segments, about.newest)


def _write_index(
    folder: Path, store: Store, ending: str, made: Made, *, prioritised: bool
) -> dict[str, int]:
    """Write the table of the episodes and the priorities; CRC-32 of each file, by its name."""
    table = _episode_table(store)
    arrays: dict[str, list[NDArray[Any]]] = {EPISODES: [table]}
    if prioritised:
        leaves = store.tree.nodes[: store.words[..., 0].size].reshape(store.words.shape[:2])
        arrays[LEAVES] = [
            piece
            for lane, ring in enumerate(leaves)
            for piece in ring_pieces(ring, stored_rows(store.episodes, lane))
        ]
    checksums = {}
    for name, pieces in arrays.items():
        file = folder / f"{name}-{ending}.npy"
        made.written.append(file)
        checksums[file.name] = write_array(file, pieces)
    return checksums


def _says(path: Path, text: str) -> bool:
    """Whether a file has been written."""
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _remove(files: Iterable[Path]) -> None:
    """Remove files; what is in use somewhere goes with the next save."""
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink()


def _list_files(folder: Path) -> list[Path]:
    """The files of a folder that saving makes, `replay.json` apart."""
    return [file for file in folder.iterdir() if _is_our_own(file)]


def _is_our_own(path: Path) -> bool:
    return any(name.fullmatch(path.name) for name in (ARRAY_NAME, SEGMENT_NAME, ASIDE_NAME))


def _check_folder(path: Path) -> None:
    """Refuse to mix a save with files of something else."""
    if not path.exists():
        return
    if not path.is_dir():
        raise WoodshedError(f"{path} is a file; a replay is saved to a folder")
    others = [file.name for file in path.iterdir() if not _is_our_own(file)]
    if others and ABOUT not in others:
        raise WoodshedError(f"{path} holds other files, such as {others[0]}: name a new folder")


def describe(layout: RecordLayout) -> list[list[Any]]:
    """Name, shape and dtype of each leaf, as JSON has them."""
    leaves = [field.leaf for field in layout.fields]
    return [[leaf.name, list(leaf.shape), leaf.dtype.str] for leaf in leaves]


def _episode_table(store: Store) -> NDArray[np.int64]:
    """`[episodes, 6]`, the columns of `saved`; lane by lane, oldest first."""
    lanes = len(store.episodes.lanes)
    count = sum(_list_episodes(store.episodes, i, np.empty((0, 6), np.int64)) for i in range(lanes))
    table, first = np.empty((count, 6), np.int64), 0
    for lane in range(lanes):
        first += _list_episodes(store.episodes, lane, table[first:])
    return table


@kernel
def _list_episodes(episodes, lane, table):  # type: ignore[no-untyped-def]
    """Fill a line for each episode of a lane, as far as there is room; how many there are."""
    marks, rows, found = episodes.marks, episodes.marks.shape[1], 0
    newest, oldest = episodes.lanes[lane, NEWEST], oldest_row(episodes, lane)
    row = oldest
    while row <= newest:
        first = row
        place = place_of(episodes, lane, first)
        first_step, hidden, hiding = marks[lane, place, STEP] >> ENDING_BITS, 0, True
        row += 1
        while row <= newest and marks[lane, wrap(place + 1, rows), STEP] >> ENDING_BITS > 0:
            hiding = hiding and marks[lane, place, LEFT] == 0
            hidden += hiding
            place = wrap(place + 1, rows)
            row += 1
        if found < table.shape[0]:
            line = table[found]
            line[0], line[1], line[2], line[3] = lane, row - first, first_step, hidden
            before = wrap(place - 1, rows)
            line[4] = marks[lane, before, STEP] & ENDING_MASK if row - first > 1 else 0
            line[5] = row > newest and episodes.lanes[lane, IS_OPEN]
        found += 1
    return found
