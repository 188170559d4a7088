"""Settings from plain data: from a TOML preset, or the `settings.json` of a run."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from woodshed.algorithms import ALGORITHMS
from woodshed.errors import WoodshedError
from woodshed.training.settings import Settings


def settings_from_data(data: Mapping[str, Any], source: str) -> Settings[Any]:
    """Make settings of nested plain data, checking names and types.

    Args:
        data: fields of `Settings`; its `algorithm` holds the algorithm's `name` and settings. What
            is left out has its default.
        source: where the data came from, for messages.

    Raises:
        WoodshedError: for an unknown field or algorithm, a wrong type, a number out of range.
    """
    algorithm = algorithm_from_data(data.get("algorithm", {}), source)
    _check_fields(data, Settings, source)
    plain = {**data, "algorithm": dataclasses.asdict(algorithm)}
    generic: Any = Settings
    settings: Settings[Any] = _convert(plain, generic[type(algorithm)], source)
    return settings


def settings_to_data(settings: Settings[Any]) -> dict[str, Any]:
    """The inverse of `settings_from_data`."""
    return {**dataclasses.asdict(settings), "algorithm": algorithm_to_data(settings.algorithm)}


def algorithm_from_data(data: Any, source: str) -> Any:
    """Make an algorithm of its `name` and settings.

    Raises:
        WoodshedError: for an unknown name or setting, a wrong type, a number out of range.
    """
    if not isinstance(data, Mapping):
        raise WoodshedError(f"{source}: algorithm is {data!r}, expected a table of settings")
    values = dict(data)
    name = values.pop("name", None)
    if name not in list(ALGORITHMS):  # a list: the name may be anything, also not hashable
        raise WoodshedError(
            f"{source}: algorithm {name!r} is unknown; there is {', '.join(ALGORITHMS)}"
        )
    _check_fields(values, ALGORITHMS[name], source)
    return _convert(values, ALGORITHMS[name], source)


def algorithm_to_data(algorithm: Any) -> dict[str, Any]:
    """The inverse of `algorithm_from_data`."""
    return {"name": algorithm.name, **dataclasses.asdict(algorithm)}


def _convert(data: Mapping[str, Any], kind: Any, source: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise WoodshedError(f"{source}: {error}") from None


def _check_fields(data: Mapping[str, Any], kind: type, source: str) -> None:
    known = [field.name for field in dataclasses.fields(kind)]
    for name in data:
        if name not in known:
            raise WoodshedError(
                f"{source}: {kind.__name__} has no setting {name!r}; there are {', '.join(known)}"
            )
