"""Where a run's checkpoints lie: `checkpoints/0007-step-30000`, the highest number the newest."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from woodshed.errors import WoodshedError
from woodshed.files import replaced_folder

CHECKPOINTS = "checkpoints"
NAME = re.compile(r"(\d{4,})-step-\d+")
ASIDE = re.compile(rf"\.{NAME.pattern}\.[0-9a-f]{{8}}")
"""What is being written or removed; a crash can leave it."""


def list_checkpoints(run_folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    folder = run_folder / CHECKPOINTS
    if not folder.is_dir():
        return []
    found = {path: NAME.fullmatch(path.name) for path in folder.iterdir()}
    return sorted((path for path, match in found.items() if match), key=_number)


def newest_checkpoint(run_folder: Path) -> Path:
    """The checkpoint to go on from.

    Raises:
        WoodshedError: when there is none.
    """
    checkpoints = list_checkpoints(run_folder)
    if not checkpoints:
        raise WoodshedError(
            f"{run_folder} holds no checkpoint, so there is nothing to resume from: the run ended "
            "before the first one (checkpoint_every), or keep_checkpoints was 0"
        )
    return checkpoints[-1]


@contextmanager
def new_checkpoint(run_folder: Path, env_steps: int, keep: int) -> Iterator[tuple[Path, Path]]:
    """A folder to fill, which becomes the newest checkpoint when the block ends well.

    The oldest are removed afterwards, so that `keep` are left. What an earlier crash left goes.

    Yields:
        The folder to fill, and the path that it will have.
    """
    remove_leftovers(run_folder)
    before = list_checkpoints(run_folder)
    number = _number(before[-1]) + 1 if before else 1
    path = run_folder / CHECKPOINTS / f"{number:04}-step-{env_steps}"
    with replaced_folder(path) as aside:
        yield aside, path
    for old in list_checkpoints(run_folder)[:-keep]:
        gone = old.with_name(f".{old.name}.{0:08x}")
        old.rename(gone)  # so that no half of it ever has a checkpoint's name
        shutil.rmtree(gone, ignore_errors=True)


def remove_leftovers(run_folder: Path) -> None:
    """Remove what a crash left of checkpoints that were being written or removed."""
    for path in (run_folder / CHECKPOINTS).glob(".*"):
        if ASIDE.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _number(path: Path) -> int:
    match = NAME.fullmatch(path.name)
    return int(match[1]) if match else 0
