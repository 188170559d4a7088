"""`woodshed plot DIR [DIR …]`."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from woodshed.cli.parsing import parse
from woodshed.errors import WoodshedError
from woodshed.files import replaced_file
from woodshed.training.metrics import METRICS_FILE
from woodshed.training.run_folder import check_run_folder

AXES = (("env_steps", "environment steps"), ("train_seconds", "seconds of training"))


@dataclass(frozen=True)
class PlotCommand:
    """Draw the learning curves of one or several runs: evaluations against steps and time."""

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    out: Path = Path("learning.png")
    """Picture to write; its ending says the format (.png, .svg, .pdf)."""


def main(args: Sequence[str]) -> int:
    """Write the picture."""
    command = parse(PlotCommand, args, command="plot")
    if not command.folders:
        raise WoodshedError("expected the folder of a run: woodshed plot DIR [DIR …]")
    draw({str(folder): read_evaluations(folder) for folder in command.folders}, command.out)
    print(f"wrote {command.out}")
    return 0


def read_evaluations(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics that are evaluations.

    Raises:
        WoodshedError: when the folder is none of a run, has none yet, or its file is damaged.
    """
    check_run_folder(folder)
    path = folder / METRICS_FILE
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        evaluations = [line for line in lines if "evaluation/return" in line]
        for line, (axis, _) in itertools.product(evaluations, AXES):
            float(line[axis])  # there, and a number
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WoodshedError(f"{path} is missing or damaged: {error}") from None
    if not evaluations:
        raise WoodshedError(f"{path} holds no evaluation yet: nothing to draw")
    return evaluations


def draw(runs: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Draw evaluations by run: success where every run reports it, else return.

    Raises:
        WoodshedError: without matplotlib, for an unknown format, or where nothing can be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise WoodshedError("plotting needs matplotlib: pip install 'woodshed[plot]'") from None
    success = all("evaluation/success" in line for lines in runs.values() for line in lines)
    key, label = (
        ("evaluation/success", "success rate") if success else ("evaluation/return", "return")
    )
    figure = Figure(figsize=(10, 4), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    if out.suffix.lstrip(".").lower() not in canvas.get_supported_filetypes():
        raise WoodshedError(
            f"cannot draw a {out.suffix or 'nameless'} file; use .png, .svg or .pdf"
        )
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, (axis, title) in zip((left, right), AXES, strict=True):
        for name, lines in runs.items():
            axes.plot(
                [line[axis] for line in lines], [line[key] for line in lines], ".-", label=name
            )
        axes.set_xlabel(title)
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
    left.set_ylabel(f"{label} in evaluation")
    if success:
        left.set_ylim(-0.02, 1.02)
    left.legend(fontsize="small")
    try:
        with replaced_file(out) as aside:
            figure.savefig(aside, dpi=120)
    except OSError as error:
        raise WoodshedError(f"cannot write {out}: {error.strerror or error}") from None
