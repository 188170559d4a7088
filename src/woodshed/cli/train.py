"""`woodshed train ENV [settings]`."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from woodshed.algorithms import SAC
from woodshed.cli.parsing import parse
from woodshed.errors import WoodshedError
from woodshed.presets import preset_settings
from woodshed.training import Result, Settings, train
from woodshed.training.reporter import make_reporter
from woodshed.training.run_folder import default_run_folder

A = TypeVar("A", bound=SAC)


@dataclass(frozen=True)
class TrainCommand(Generic[A]):
    """Train a policy. Without settings: the tuned ones of the environment, where there are."""

    env: tyro.conf.Positional[str]
    """Gymnasium id of the environment."""
    settings: Settings[A]
    """Settings of the run."""
    algorithm: str = "sac"
    """Name of the algorithm."""
    preset: str | None = None
    """Tuned settings to begin with: a name that `woodshed presets` lists, or a .toml file. None:
    those of the environment."""
    out: Path | None = None
    """Run folder to make. None: runs/ENV-ALGORITHM-seedN."""


def main(args: Sequence[str]) -> int:
    """Train, and say what came of it."""
    command = parse_train(args)
    settings = command.settings
    out = command.out or default_run_folder(command.env, command.algorithm, settings.seed)
    with closing(make_reporter(settings.steps)) as reporter:
        result = train(command.env, settings, out, reporter=reporter)
    return conclude(result, out)


def parse_train(args: Sequence[str]) -> TrainCommand[SAC]:
    """Read the command line, over the preset that it chooses.

    Raises:
        WoodshedError: for a mistake in it.
    """
    helps = {"-h", "--help"} & set(args)
    if not helps and (not args or args[0].startswith("-")):
        raise WoodshedError("expected an environment first: woodshed train ENV [settings]")
    env = args[0] if args and not args[0].startswith("-") else "ENV"
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--algorithm", default="sac")
    first.add_argument("--preset")
    try:
        chosen, _ = first.parse_known_args(args)
    except argparse.ArgumentError as error:
        raise WoodshedError(f"{error}; see woodshed train --help") from None
    settings = preset_settings(env, chosen.algorithm, chosen.preset)
    default = TrainCommand(env, settings, chosen.algorithm, chosen.preset)
    generic: Any = TrainCommand
    kind = generic[type(settings.algorithm)]
    command: TrainCommand[SAC] = parse(kind, args, command="train", default=default)
    return command


def conclude(result: Result, folder: Path) -> int:
    """Say what came of a run, and where it lies; the exit code."""
    print(describe(result))
    print(f"run folder  {folder}")
    return 130 if result.interrupted else 0


def describe(result: Result) -> str:
    """What came of a run, in a few lines."""
    lines = []
    if result.success_rate is not None:
        lines.append(f"success     {result.success_rate:.0%} of {result.episodes} episodes")
    if result.return_mean is not None:
        lines.append(f"return      {result.return_mean:.2f} on average")
    lines.append(
        f"trained     {result.env_steps:,} steps, {result.updates:,} updates in "
        f"{result.train_seconds:.1f} s ({result.steps_per_second:,.0f} steps/s)"
    )
    if result.solved_at_seconds is not None:
        lines.append(
            f"solved      after {result.solved_at_step:,} steps, {result.solved_at_seconds:.1f} s"
        )
    if result.interrupted:
        lines.append("interrupted before the last step; the policies so far are saved")
    return "\n".join(lines)
