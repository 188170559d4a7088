"""Files that are whole or not there: written aside and renamed."""

import json
import os
import shutil
import tempfile
import zipfile
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
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        _flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill in place of `path`: takes its name when the block ends well.

    A folder that was there is moved aside first and removed last, so one of the two is always
    whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    old = aside.with_name(f"{aside.name}.old")
    try:
        yield aside
        for file in aside.iterdir():
            _flush(file)
        aside.chmod(0o755)  # mkdtemp's is for its owner alone
        if path.exists():
            path.rename(old)
        aside.rename(path)
    finally:
        for leftover in (aside, old):
            shutil.rmtree(leftover, ignore_errors=True)


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
    except (OSError, ValueError) as error:
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
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise WoodshedError(f"{path} is damaged or holds no arrays: {error}") from None


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
