"""Finding and reading presets."""

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from woodshed.algorithms import ALGORITHMS
from woodshed.errors import WoodshedError
from woodshed.training import Settings, settings_from_data


def preset_names() -> list[str]:
    """The environments that have a preset."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The preset's file, with its comments.

    Raises:
        WoodshedError: when there is none of that name.
    """
    return _find(name).read_text()


def preset_settings(env: str, algorithm: str, preset: str | None = None) -> Settings[Any]:
    """The settings to begin with for an environment.

    Args:
        env: id of the environment.
        algorithm: name of the algorithm.
        preset: name of a preset, or the path of a TOML file like one; None: the environment's own,
            or the defaults where it has none for the algorithm.

    Raises:
        WoodshedError: for an unknown preset or algorithm, or a file that is no preset.
    """
    if algorithm not in ALGORITHMS:
        raise WoodshedError(f"algorithm {algorithm!r} is unknown; there is {', '.join(ALGORITHMS)}")
    data: dict[str, Any] = {}
    source = "defaults"
    if preset is not None or env in preset_names():
        file = _find(env if preset is None else preset)
        source = str(file)
        tables = _parse(file)
        if preset is not None and algorithm not in tables:
            raise WoodshedError(
                f"preset {preset!r} has no settings for {algorithm}; "
                f"it has {', '.join(tables) or 'none at all'}"
            )
        data = _table(tables, algorithm, source)
    chosen = {"name": algorithm, **_table(data, "algorithm", source)}
    return settings_from_data({**data, "algorithm": chosen}, source)


def _table(data: dict[str, Any], name: str, source: str) -> dict[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise WoodshedError(f"{source}: {name} is {table!r}, expected a table of settings")
    return table


def _find(name: str) -> Traversable:
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise WoodshedError(f"there is no preset file {name}")
        return path
    if name not in preset_names():
        raise WoodshedError(
            f"preset {name!r} is unknown; there is {', '.join(preset_names())}, or give the path "
            "of a .toml file"
        )
    return resources.files(__package__) / f"{name}.toml"


def _parse(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WoodshedError(f"{file} is no TOML file: {error}") from None
