"""Where a run's checkpoints lie: `checkpoints/0007-step-30000`, the highest number the newest."""

import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from woodshed.errors import WoodshedError
from woodshed.files import aside_of, aside_pattern, replaced_folder

CHECKPOINTS = "checkpoints"
UNDONE = "undone"
NAME = re.compile(r"(\d{4,})-step-\d+")
ASIDE = aside_pattern(NAME.pattern)
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


def chosen_checkpoint(run_folder: Path, chosen: Path | None) -> Path:
    """The checkpoint to go on from: the newest one, or another one of this run.

    Raises:
        WoodshedError: when there is none, or it is none of this run's.
    """
    if chosen is None:
        return newest_checkpoint(run_folder)
    if not chosen.is_dir():
        raise WoodshedError(f"there is no checkpoint {chosen}")
    own = list_checkpoints(run_folder)
    for path in own:
        if path.samefile(chosen):
            return path
    names = ", ".join(path.name for path in own) or "none"
    raise WoodshedError(
        f"{chosen} is no checkpoint of {run_folder}; those in its {CHECKPOINTS} are {names}"
    )


def put_aside_later_than(checkpoint: Path) -> None:
    """Move the checkpoints after one that a run goes back to into `checkpoints/undone`.

    They are of steps that will be made again, perhaps in another way, and nothing goes on from them
    unless somebody moves them back.
    """
    undone = checkpoint.parent / UNDONE
    for later in checkpoint.parent.iterdir():
        if NAME.fullmatch(later.name) and _number(later) > _number(checkpoint):
            undone.mkdir(exist_ok=True)
            later.rename(undone / f"{later.name}-{secrets.token_hex(4)}")


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
        gone = aside_of(old)
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
