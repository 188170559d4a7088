"""Files that are whole or not there: written aside and renamed."""

import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError

CHECKSUM = "checksum"
"""Name of a sealed file's own checksum in it."""
CHUNK = 2**24
"""Bytes that are read at a time."""


def aside_of(path: Path) -> Path:
    """A free name beside `path`, hidden and with its ending; the folder is made where needed."""
    # Not tempfile's: what that makes is for its owner alone, whatever the umask says.
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")


def aside_pattern(stem: str, suffix: str = "") -> re.Pattern[str]:
    """What `aside_of` names such paths, by which a crash's leftovers are known.

    Args:
        stem: regular expression of their names without the ending.
        suffix: regular expression of the ending.
    """
    return re.compile(rf"\.{stem}\.[0-9a-f]{{8}}{suffix}")


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A file to write in place of `path`: takes its name when the block ends well, else goes."""
    aside = aside_of(path)
    try:
        yield aside
        flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill in place of `path`: takes its name when the block ends well.

    A folder that was there is moved aside first and removed last, so one of the two is always
    whole.
    """
    aside, old = aside_of(path), aside_of(path)
    aside.mkdir()
    try:
        yield aside
        for item in [aside, *aside.rglob("*")]:
            if item.is_dir():
                flush_names(item)
            elif item.stat().st_nlink == 1:  # links were flushed long ago
                flush(item)
        if path.exists():
            path.rename(old)
        aside.rename(path)
        flush_names(path.parent)
    finally:
        if old.exists() and not path.exists():  # stopped between the two renames
            old.rename(path)
        for leftover in (aside, old):
            shutil.rmtree(leftover, ignore_errors=True)


def mend_folder(path: Path) -> None:
    """Put right what a crash left of a `replaced_folder`: the folder is whole, and alone.

    Between the two renames it has no name of its own; the new one and the old one are both there
    and whole then, and the new one takes it. One alone was never finished.
    """
    pattern = aside_pattern(re.escape(path.stem), re.escape(path.suffix))
    left = [other for other in path.parent.glob(".*") if pattern.fullmatch(other.name)]
    if len(left) > 1 and not path.exists():
        newest = max(left, key=lambda other: other.stat().st_mtime)
        newest.rename(path)
        left.remove(newest)
    for other in left:
        shutil.rmtree(other, ignore_errors=True)


@contextmanager
def writing_to(path: Path, doing: str) -> Iterator[None]:
    """Turn what the disk refuses into one line: `cannot {doing} {path}: No space left on device`.

    Raises:
        WoodshedError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise WoodshedError(f"cannot {doing} {path}: {error.strerror or error}") from None


def folder_path(value: object) -> Path:
    """The path that somebody named a folder by.

    Raises:
        WoodshedError: for what is no path.
    """
    if not isinstance(value, str | os.PathLike):
        raise WoodshedError(f"{value!r} is no path of a folder")
    return Path(value)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, readable by people."""
    with replaced_file(path) as aside:
        aside.write_text(_json_text(value))


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        WoodshedError: when it is missing or damaged; the message names it.
    """
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise WoodshedError(f"{path} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise WoodshedError(f"{path} is damaged or no JSON file: {error}") from None


def write_sealed(path: Path, data: Mapping[str, Any]) -> None:
    """Write a `sealed_text`."""
    with replaced_file(path) as aside:
        aside.write_bytes(sealed_text(data).encode())


def sealed_text(data: Mapping[str, Any]) -> str:
    """JSON, readable by people, whose last key `checksum` is the CRC-32 of the text without it.

    The keys keep their order; none of them may be `checksum`, and no number NaN or infinite.
    """
    return _json_text({**data, CHECKSUM: zlib.crc32(_json_text(data).encode())})


def read_sealed(path: Path) -> dict[str, Any]:
    """Read a file that holds a `sealed_text`; any byte that is another one is found.

    Returns:
        The data, without the checksum.

    Raises:
        WoodshedError: when it is missing or damaged; the message names it.
    """
    try:
        content = path.read_bytes()  # as they are: reading text would make one of several newlines
        data = json.loads(content)
        found = data.pop(CHECKSUM, None) if isinstance(data, dict) else None
        whole = found is not None and sealed_text(data).encode() == content
    except FileNotFoundError:
        raise WoodshedError(f"{path} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, f"it is no JSON file of ours: {error}") from None
    if not whole:
        raise damaged(path, "its checksum is another")
    return dict(data)


def damaged(path: Path, why: str) -> WoodshedError:
    """The error for a file that is not what was written."""
    return WoodshedError(f"{path} is damaged: {' '.join(why.split())}")


def generator_of(state: Mapping[str, Any], source: Path) -> np.random.Generator:
    """A generator that goes on from a state that was read.

    Args:
        state: of its bit generator.
        source: the file, for the message.

    Raises:
        WoodshedError: where it is no state; numpy would cut what does not fit, and take any number
            for a truth.
    """
    generator = np.random.default_rng()
    try:
        generator.bit_generator.state = dict(state)
    except Exception as error:  # numpy raises several kinds for foreign states
        raise damaged(source, f"its generator is none: {error}") from None
    if generator.bit_generator.state != state or state["has_uint32"] not in (0, 1):
        raise damaged(source, "its generator is none")
    return generator


def _json_text(value: Any) -> str:
    return f"{json.dumps(value, indent=2, allow_nan=False)}\n"


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    value = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            value = zlib.crc32(chunk, value)
    return value


def check_file(path: Path, expected: int) -> None:
    """Check that a file is there, and what was written.

    Args:
        path: of the file.
        expected: its `checksum`.

    Raises:
        WoodshedError: when it is not; the message names it.
    """
    if not path.is_file():
        raise WoodshedError(f"{path} is missing")
    if checksum(path) != expected:
        raise damaged(path, "its checksum is another")


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays into one `.npz` file."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **dict(arrays))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote. Runs no code from the file.

    Raises:
        WoodshedError: when it is missing or damaged; the message names it.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise WoodshedError(f"{path} is missing") from None
    except Exception as error:  # zipfile and numpy raise a dozen kinds for foreign bytes
        raise WoodshedError(f"{path} is damaged or holds no arrays: {error}") from None


def flush(path: Path) -> None:
    """Bring a file to the disk itself."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def flush_names(folder: Path) -> None:
    """Bring the names in a folder to the disk, as far as its file system can, so that a rename
    outlives a power cut."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
