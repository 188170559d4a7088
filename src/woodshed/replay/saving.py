"""Saving: the rows straight from the store into files, without a copy of them."""

import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.files import flush, folder_path, write_json
from woodshed.replay.kernel import kernel
from woodshed.replay.records import RecordLayout
from woodshed.replay.saved import (
    ABOUT,
    ARRAY_NAME,
    ASIDE_NAME,
    EPISODES,
    LEAVES,
    RECORDS,
    About,
    checksum,
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
    wrap,
)


def save(
    folder: str | os.PathLike[str],
    store: Store,
    layout: RecordLayout,
    generator: np.random.Generator,
    *,
    alpha: float | None,
    largest_priority: float,
    written: int,
    stale_priorities: int,
) -> None:
    """Write a replay to a folder, in place of one that was saved there; see `saved`.

    Args:
        folder: made where needed.
        store: only read.
        layout: of its records.
        generator: whose state is kept.
        alpha: exponent of the priorities; None without.
        largest_priority: that was given so far.
        written: transitions that were written in all.
        stale_priorities: that were dropped so far.

    Raises:
        WoodshedError: for a folder of other files, or one that cannot be written to.
    """
    path, files = folder_path(folder), dict[str, Path]()
    _check_folder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        ending = secrets.token_hex(4)
        for name in (RECORDS, EPISODES, *([] if alpha is None else [LEAVES])):
            files[name] = path / f"{name}-{ending}.npy"
        _write_rows(files[RECORDS], store, store.words)
        np.save(files[EPISODES], _episode_table(store), allow_pickle=False)
        if alpha is not None:
            lanes, rows, _ = store.words.shape
            leaves = store.tree.nodes[: lanes * rows].reshape(lanes, -1)
            _write_rows(files[LEAVES], store, leaves)
        for file in files.values():
            flush(file)
        about = About(
            fields=describe(layout),
            newest=store.episodes.lanes[:, NEWEST].tolist(),
            rows_per_lane=store.words.shape[1],
            alpha=alpha,
            largest_priority=largest_priority,
            written=written,
            stale_priorities=stale_priorities,
            generator=dict(generator.bit_generator.state),
            checksums={file.name: checksum(file) for file in files.values()},
        )
        write_json(path / ABOUT, about.as_json())
    except BaseException as error:
        for file in files.values():
            file.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise WoodshedError(f"{path} cannot be saved to: {error}") from None
        raise
    for old in path.iterdir():
        if _is_our_own(old) and old not in files.values():
            old.unlink()


def _is_our_own(path: Path) -> bool:
    """Whether it is a file that saving makes, `replay.json` apart."""
    return any(name.fullmatch(path.name) for name in (ARRAY_NAME, ASIDE_NAME))


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


def _write_rows(path: Path, store: Store, rings: NDArray[Any]) -> None:
    """Write what belongs to the stored rows of `rings` `[L, R, …]` as one array `[rows, …]`."""
    pieces = []
    for lane, ring in enumerate(rings):
        newest = int(store.episodes.lanes[lane, NEWEST])
        start, end = oldest_row(store.episodes, lane) % len(ring), newest % len(ring) + 1
        if newest >= 0:
            pieces += [ring[start:end]] if start < end else [ring[start:], ring[:end]]
    shape = (sum(map(len, pieces)), *rings.shape[2:])
    with path.open("wb") as file:
        header = {"descr": rings.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(memoryview(piece).cast("B"))


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
