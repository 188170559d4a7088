"""`woodshed resume DIR [settings]`."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from woodshed.algorithms import SAC
from woodshed.cli.parsing import parse
from woodshed.cli.train import conclude
from woodshed.errors import WoodshedError
from woodshed.training import Settings, resume
from woodshed.training.reporter import make_reporter
from woodshed.training.run_folder import read_settings

A = TypeVar("A", bound=SAC)


@dataclass(frozen=True)
class ResumeCommand(Generic[A]):
    """Go on with a run that was stopped. Settings given here win over those it had."""

    folder: tyro.conf.Positional[Path]
    """Run folder."""
    settings: Settings[A]
    """Settings of the run."""
    checkpoint: Path | None = None
    """Checkpoint to go on from. None: the newest one."""
    env: str | None = None
    """Gymnasium id of the environment. None: that of the run."""


def main(args: Sequence[str]) -> int:
    """Go on, and say what came of it."""
    command = parse_resume(args)
    with closing(make_reporter(command.settings.steps)) as reporter:
        result = resume(
            command.folder,
            command.settings,
            env=command.env,
            checkpoint=command.checkpoint,
            reporter=reporter,
        )
    return conclude(result, command.folder)


def parse_resume(args: Sequence[str]) -> ResumeCommand[SAC]:
    """Read the command line, over the settings of the run that it names.

    Raises:
        WoodshedError: for a mistake in it.
    """
    helps = {"-h", "--help"} & set(args)
    named = bool(args) and not args[0].startswith("-")
    if not helps and not named:
        raise WoodshedError("expected a run folder first: woodshed resume DIR [settings]")
    folder = Path(args[0]) if named else Path("DIR")
    settings = read_settings(folder)[1] if named else Settings(SAC())
    generic: Any = ResumeCommand
    kind = generic[type(settings.algorithm)]
    default = ResumeCommand(folder, settings)
    command: ResumeCommand[SAC] = parse(kind, args, command="resume", default=default)
    return command
