"""Files that are whole or not there: written aside and renamed."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A file to write in place of `path`: takes its name when the block ends well, else goes."""
    aside = _new_name(path)
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
    aside, old = _new_name(path), _new_name(path)
    aside.mkdir()
    try:
        yield aside
        for file in aside.iterdir():
            flush(file)
        if path.exists():
            path.rename(old)
        aside.rename(path)
    finally:
        if old.exists() and not path.exists():  # stopped between the two renames
            old.rename(path)
        for leftover in (aside, old):
            shutil.rmtree(leftover, ignore_errors=True)


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
    text = json.dumps(value, indent=2, allow_nan=False)
    with replaced_file(path) as aside:
        aside.write_text(f"{text}\n")


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


def _new_name(path: Path) -> Path:
    """A free name beside `path`, hidden and with its ending; the folder is made where needed."""
    # Not tempfile's: what that makes is for its owner alone, whatever the umask says.
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")


def flush(path: Path) -> None:
    """Bring a file to the disk itself."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
