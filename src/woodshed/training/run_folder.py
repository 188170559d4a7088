"""The run folder: what is where, and the settings in it."""

from pathlib import Path
from typing import Any

from woodshed.envs import EnvironmentFactory
from woodshed.errors import WoodshedError
from woodshed.files import read_json, write_json
from woodshed.training.settings import Settings
from woodshed.training.settings_data import settings_from_data, settings_to_data

SETTINGS_FILE = "settings.json"
BEST_POLICY = "policy"
LAST_POLICY = "policy-last"


def new_run_folder(out: Path) -> Path:
    """Make the folder of a new run.

    Raises:
        WoodshedError: when something is there already, since a run is never written over; or when
            the folder cannot be made.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise WoodshedError(f"{out} exists already; give another folder with --out, or remove it")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WoodshedError(f"cannot make the run folder {out}: {error.strerror}") from None
    return out


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


def write_settings(folder: Path, env: str | EnvironmentFactory, settings: Settings[Any]) -> None:
    """Write `settings.json`; an environment made by a function is null there."""
    name = env if isinstance(env, str) else None
    write_json(folder / SETTINGS_FILE, {"env": name, **settings_to_data(settings)})


def read_settings(folder: Path) -> tuple[str | None, Settings[Any]]:
    """Read `settings.json` of a run folder: the environment's id, and the settings.

    Raises:
        WoodshedError: when the folder is none of a run, or the file is damaged.
    """
    check_run_folder(folder)
    path = folder / SETTINGS_FILE
    data = read_json(path)
    if not isinstance(data, dict) or "env" not in data:
        raise WoodshedError(f"{path} is damaged: it names no env")
    env = data.pop("env")
    return env, settings_from_data(data, str(path))
