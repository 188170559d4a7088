"""The run folder: what is where, and the settings in it."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from woodshed.envs import EnvironmentFactory
from woodshed.errors import WoodshedError
from woodshed.files import (
    aside_pattern,
    damaged,
    folder_path,
    mend_folder,
    read_json,
    write_json,
    writing_to,
)
from woodshed.training.settings import Settings
from woodshed.training.settings_data import settings_from_data, settings_to_data

SETTINGS_FILE = "settings.json"
BEST_POLICY = "policy"
LAST_POLICY = "policy-last"
FAILURE_LOG = "failures.log"
WORKER_LOGS = "workers"
RESUMES_FILE = "resumes.jsonl"
LEFTOVER = aside_pattern("(settings|result|metrics)", r"\.jsonl?")
"""What a crash leaves of a file that was being replaced."""


def new_run_folder(out: Path) -> Path:
    """Make the folder of a new run.

    Raises:
        WoodshedError: when something is there already, since a run is never written over; or when
            the folder cannot be made.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise WoodshedError(f"{out} exists already; give another folder with --out, or remove it")
    with writing_to(out, "make the run folder"):
        out.mkdir(parents=True, exist_ok=True)
    return out


@contextmanager
def folder_unless_it_fails(out: Path) -> Iterator[Path]:
    """The folder of a new run, which is gone again, with all that is in it, where the block fails.

    Raises:
        WoodshedError: as `new_run_folder`.
    """
    made = [path for path in (out, *out.parents) if not path.exists()]
    folder = new_run_folder(out)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder)
        for path in made[1:]:
            path.rmdir()
        if out not in made:
            folder.mkdir()
        raise


def default_run_folder(env: str, algorithm: str, seed: int) -> Path:
    """`runs/ENV-ALGORITHM-seedN`, with a number behind it from the second time on."""
    name = f"{env.replace('/', '-').replace(':', '-')}-{algorithm}-seed{seed}"
    folder, count = Path("runs") / name, 1
    while folder.exists():
        count += 1
        folder = Path("runs") / f"{name}-{count}"
    return folder


def check_run_folder(folder: Path) -> None:
    """Check that a folder is one of a run.

    Raises:
        WoodshedError: when it is missing, or holds no settings of a run.
    """
    if not folder.is_dir():
        raise WoodshedError(f"there is no folder {folder}; expected the folder of a training run")
    if not (folder / SETTINGS_FILE).is_file():
        raise WoodshedError(
            f"{folder} is not the folder of a training run: it holds no {SETTINGS_FILE}"
        )


def policy_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder of a policy: that of a run's best one, or what is one itself."""
    path = folder_path(folder)
    return path / BEST_POLICY if (path / SETTINGS_FILE).is_file() else path


@contextmanager
def only_trainer(folder: Path) -> Iterator[None]:
    """Keep the run folder from being trained in twice at a time.

    Raises:
        WoodshedError: another process trains in it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            # Of the folder itself: no file is left behind, and the kernel lets go with the process.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WoodshedError(f"another process is training in {folder}") from None
        yield
    finally:
        os.close(descriptor)


def record_resume(
    folder: Path,
    checkpoint: Path,
    before: tuple[str | None, Settings[Any]],
    now: tuple[str | EnvironmentFactory, Settings[Any]],
    said: Sequence[str],
) -> None:
    """Add a line to `resumes.jsonl`: which checkpoint, what changed, what did not come back.

    Args:
        folder: of the run.
        checkpoint: that it goes on from.
        before: environment and settings of the run.
        now: those given.
        said: what of the checkpoint could not be brought back exactly.
    """
    old, new = (_as_data(*side) for side in (before, now))
    changed = {name: [old[name], new[name]] for name in new if old[name] != new[name]}
    line = {"checkpoint": checkpoint.name, "changed": changed, "inexact": list(said)}
    with (folder / RESUMES_FILE).open("a") as file:
        file.write(f"{json.dumps(line)}\n")


def mend_run_folder(folder: Path) -> None:
    """Put right what a crash left while files were replaced: nothing is lost, nothing left over."""
    for name in (BEST_POLICY, LAST_POLICY):
        mend_folder(folder / name)
    for path in folder.glob(".*"):
        if LEFTOVER.fullmatch(path.name):
            path.unlink()


def write_settings(folder: Path, env: str | EnvironmentFactory, settings: Settings[Any]) -> None:
    """Write `settings.json`; an environment made by a function is null there."""
    write_json(folder / SETTINGS_FILE, _as_data(env, settings))


def _as_data(env: str | EnvironmentFactory | None, settings: Settings[Any]) -> dict[str, Any]:
    name = env if isinstance(env, str) else None
    return {"env": name, **settings_to_data(settings)}


def read_settings(folder: Path) -> tuple[str | None, Settings[Any]]:
    """Read `settings.json` of a run folder: the environment's id, and the settings.

    Raises:
        WoodshedError: when the folder is none of a run, or the file is damaged.
    """
    check_run_folder(folder)
    path = folder / SETTINGS_FILE
    data = read_json(path)
    if not isinstance(data, dict) or "env" not in data:
        raise damaged(path, "it names no env")
    env = data.pop("env")
    return env, settings_from_data(data, str(path))
