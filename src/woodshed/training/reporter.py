"""Telling the user how the run goes: a progress bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

REFRESH_SECONDS = 0.25


class Reporter(Protocol):
    """What a training run tells while it goes on."""

    def advance(self, env_steps: int) -> None:
        """Environment steps taken so far; called after every step."""

    def metrics(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        """A report of metrics."""

    def say(self, line: str) -> None:
        """A line for the user."""

    def close(self) -> None:
        """The run is over."""


def make_reporter(steps: int) -> Reporter:
    """The reporter that suits where the output goes.

    Args:
        steps: environment steps of the whole run.
    """
    return BarReporter(steps) if sys.stdout.isatty() else LineReporter(steps)


class SilentReporter:
    """Tells nothing."""

    def advance(self, env_steps: int) -> None:
        """Nothing."""

    def metrics(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class LineReporter(SilentReporter):
    """A line for each report, as for a log file."""

    def __init__(self, steps: int) -> None:
        """Take the steps of the whole run."""
        self._steps = steps

    def metrics(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        """Print the report in one line."""
        print(f"{env_steps:>9,} / {self._steps:,} steps  {summary(metrics)}", flush=True)

    def say(self, line: str) -> None:
        """Print the line."""
        print(line, flush=True)


class BarReporter:
    """A progress bar with the newest numbers and the time that is left."""

    def __init__(self, steps: int) -> None:
        """Show the bar."""
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(),
            auto_refresh=False,  # its thread would take turns with the environments
        )
        self._task = self._progress.add_task("", total=steps)
        self._progress.start()
        self._refreshed = 0.0

    def advance(self, env_steps: int) -> None:
        """Move the bar, a few times a second."""
        now = time.monotonic()
        if now - self._refreshed >= REFRESH_SECONDS:
            self._refreshed = now
            self._progress.update(self._task, completed=env_steps, refresh=True)

    def metrics(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        """Put the numbers beside the bar."""
        self._progress.update(
            self._task, completed=env_steps, description=summary(metrics), refresh=True
        )

    def say(self, line: str) -> None:
        """Print the line above the bar."""
        self._progress.console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()


def summary(metrics: Mapping[str, float]) -> str:
    """The numbers that people look at, in a line."""
    shown = (
        ("return", "train/return", "{:.1f}"),
        ("success", "train/success", "{:.0%}"),
        ("steps/s", "steps_per_second", "{:,.0f}"),
        ("updates/s", "updates_per_second", "{:,.0f}"),
    )
    found = [(name, form, metrics[key]) for name, key, form in shown if key in metrics]
    return "  ".join(f"{name} {form.format(value)}" for name, form, value in found)
