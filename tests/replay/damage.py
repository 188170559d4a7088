"""Ways to damage a saved replay."""

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from woodshed.files import sealed_text

Damage = Callable[[Path], None]


def truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def two_bytes_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def missing(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def byte_flipped(at: float) -> Damage:
    """The byte at this share of the file, all its bits."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * (len(data) - 1))] ^= 0xFF
        path.write_bytes(data)

    damage.__name__ = f"byte_flipped_at_{at}"
    return damage


def linked_to_nothing(path: Path) -> None:
    path.unlink()
    os.symlink("nowhere", path)


ANY_FILE: list[Damage] = [
    truncated,
    two_bytes_short,
    emptied,
    longer,
    missing,
    a_folder,
    linked_to_nothing,
]
ARRAY: list[Damage] = [byte_flipped(at / 20) for at in range(21)]


def texts(text: str) -> Damage:
    def damage(path: Path) -> None:
        path.write_text(text)

    damage.__name__ = f"says_{text[:20]!r}"
    return damage


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


JSON: list[Damage] = [
    no_text,
    *(
        texts(text)
        for text in (
            "no JSON",
            "{",
            "{}",
            "[]",
            "[1, 2]",
            "null",
            "3",
            '"woodshed"',
            '{"format": "another"}',
            '{"format": 1, "version": []}',
            '{"format": "woodshed replay"}',
            "[" * 100_000,
            "NaN",
        )
    ),
]


NONSENSE: tuple[Any, ...] = (-1, 2**80, 1e400, float("nan"), 0.5, None, "x", "../x", [], {})
SENSIBLE = ("largest_priority", "generator/state/state", "generator/state/inc")
"""What may be as large as 2^80."""


def nonsense(document: Any) -> Iterator[tuple[str, Any]]:
    """Documents with one value replaced by another that means nothing there, and what it was."""
    for path, value in _leaves(document):
        name = "/".join(map(str, path))
        for other in NONSENSE:
            if type(other) is type(value) and other == value:
                continue
            if name in SENSIBLE and other == 2**80:
                continue
            changed = deepcopy(document)
            place = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = other
            yield f"{name}: {value!r} -> {other!r}", changed


def _leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value under a key, containers and what is in them."""
    steps: Any = ()
    if isinstance(document, dict):
        steps = list(document)
    elif isinstance(document, list):
        steps = range(len(document))
    for step in steps:
        yield (*path, step), document[step]
        yield from _leaves(document[step], (*path, step))


def read_json(path: Path) -> Any:
    """What is under the seal."""
    document = json.loads(path.read_text())
    del document["checksum"]
    return document


def write_json(path: Path, document: Any) -> None:
    """With a checksum that is right, so that it is the document that is refused."""
    try:
        path.write_text(sealed_text(document))
    except ValueError:  # it holds a number that no sealed text does
        path.write_text(json.dumps(document))
