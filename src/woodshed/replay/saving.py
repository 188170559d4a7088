"""Saving: the rows straight from the store into files, without a copy of them."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.files import replaced_folder, write_json
from woodshed.replay.kernel import kernel
from woodshed.replay.records import RecordLayout
from woodshed.replay.saved import ABOUT, EPISODES, LEAVES, RECORDS, About, checksum
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
    """Write a replay to a folder, which takes the place of one that was there; see `saved`.

    Args:
        folder: written aside and renamed.
        store: only read.
        layout: of its records.
        generator: whose state is kept.
        alpha: exponent of the priorities; None without.
        largest_priority: that was given so far.
        written: transitions that were written in all.
        stale_priorities: that were dropped so far.
    """
    with replaced_folder(Path(folder)) as aside:
        _write_rows(aside / RECORDS, store, store.words)
        np.save(aside / EPISODES, _episode_table(store), allow_pickle=False)
        if alpha is not None:
            lanes, rows, _ = store.words.shape
            _write_rows(aside / LEAVES, store, store.tree.nodes[: lanes * rows].reshape(lanes, -1))
        about = About(
            fields=describe(layout),
            newest=store.episodes.lanes[:, NEWEST].tolist(),
            rows_per_lane=store.words.shape[1],
            alpha=alpha,
            largest_priority=largest_priority,
            written=written,
            stale_priorities=stale_priorities,
            generator=dict(generator.bit_generator.state),
            checksums={path.name: checksum(path) for path in sorted(aside.iterdir())},
        )
        write_json(aside / ABOUT, about.as_json())


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
