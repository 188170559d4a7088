"""`woodshed presets [ENV]`."""

from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from woodshed.cli.parsing import parse
from woodshed.presets import preset_names, preset_text


@dataclass(frozen=True)
class PresetsCommand:
    """List the environments that have tuned settings, or show those of one."""

    env: tyro.conf.Positional[str | None] = None
    """Environment whose settings to show. None: list all."""


def main(args: Sequence[str]) -> int:
    """Print names, or a preset."""
    command = parse(PresetsCommand, args, command="presets")
    print("\n".join(preset_names()) if command.env is None else preset_text(command.env).rstrip())
    return 0
