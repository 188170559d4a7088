"""Training: a new run, or one that goes on."""

import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from woodshed.envs import EnvironmentFactory
from woodshed.errors import WoodshedError
from woodshed.files import writing_to
from woodshed.training.checkpoint import Checkpoint, read_checkpoint
from woodshed.training.checkpoint_folder import (
    chosen_checkpoint,
    put_aside_later_than,
    remove_leftovers,
)
from woodshed.training.clock import Clock
from woodshed.training.finish import finish
from woodshed.training.interrupt import stop_on_signals
from woodshed.training.metrics import MetricsWriter, undo_metrics
from woodshed.training.parts import make_parts
from woodshed.training.policy import save_policy
from woodshed.training.reporter import Reporter, SilentReporter
from woodshed.training.result import Result, is_finished, mark_interrupted
from woodshed.training.run import Run
from woodshed.training.run_folder import (
    BEST_POLICY,
    WORKER_LOGS,
    folder_unless_it_fails,
    mend_run_folder,
    only_trainer,
    read_settings,
    record_resume,
    write_settings,
)
from woodshed.training.settings import Settings


def train(
    env: str | EnvironmentFactory,
    settings: Settings[Any],
    out: Path,
    *,
    reporter: Reporter | None = None,
) -> Result:
    """Train a policy, into a new run folder.

    Args:
        env: Gymnasium id, or a function that makes an environment.
        settings: of the run.
        out: the run folder; it must not hold anything yet.
        reporter: told how it goes; nobody by default.

    Returns:
        What is in the folder's `result.json`.

    Raises:
        WoodshedError: for settings that do not fit the environment, a folder that exists, numbers
            that are not finite, a disk that refuses the last checkpoint.
        EnvironmentFailedError: environments in a worker process failed too often.
    """
    clock = Clock()
    with ExitStack() as closing:
        with folder_unless_it_fails(out) as folder:
            parts = make_parts(env, settings, closing, log_folder=_worker_logs(folder, settings))
        closing.enter_context(only_trainer(folder))
        write_settings(folder, env, settings)
        metrics = MetricsWriter(folder)
        closing.callback(metrics.close)
        return _go(Run(settings, parts, folder, metrics, reporter or SilentReporter(), clock))


def resume(
    folder: Path,
    settings: Settings[Any] | None = None,
    *,
    env: str | EnvironmentFactory | None = None,
    checkpoint: Path | None = None,
    reporter: Reporter | None = None,
) -> Result:
    """Go on with a run that was stopped, in whatever way, from a checkpoint.

    On the same machine and with the same settings it becomes, bit for bit, what it would have been
    without the stop.

    Args:
        folder: the run's.
        settings: those that count from now on; the run's own by default.
        env: needed where the run's was made by a function.
        checkpoint: to go on from; the newest by default. Metrics of the steps after it are moved
            to `metrics-undone.jsonl`.
        reporter: told how it goes; nobody by default.

    Returns:
        What is in the folder's `result.json`.

    Raises:
        WoodshedError: for a folder that holds no run or no checkpoint, a damaged file, a run that
            is at its end, settings that cannot change.
        EnvironmentFailedError: environments in a worker process failed too often.
    """
    named, before = read_settings(folder)
    now = before if settings is None else settings
    chosen = named if env is None else env
    if chosen is None:
        raise WoodshedError(
            f"the environment of {folder} was made by a function: give it again, from Python as "
            "env=…, or on the command line as an id with --env"
        )
    _check_change(before, now)
    reporter = reporter or SilentReporter()
    with ExitStack() as closing:
        closing.enter_context(only_trainer(folder))
        remove_leftovers(folder)
        mend_run_folder(folder)
        start = read_checkpoint(chosen_checkpoint(folder, checkpoint))
        progress = start.about.progress
        if progress.env_steps >= now.steps and is_finished(folder):
            raise WoodshedError(
                f"{folder} is at its end: {progress.env_steps:,} of {now.steps:,} steps are made; "
                "give more with --steps"
            )
        clock, said = Clock(progress.train_seconds), list[str]()
        parts = make_parts(
            chosen,
            now,
            closing,
            log_folder=_worker_logs(folder, now),
            checkpoint=start,
            say=said.append,
        )
        for line in said:
            reporter.say(line)
        with writing_to(folder, "write to"):
            record_resume(folder, start.folder, (named, before), (chosen, now), said)
            write_settings(folder, chosen, now)
            last = _take_back(folder, start)
        metrics = MetricsWriter(folder, purge_after=last)
        closing.callback(metrics.close)
        return _go(Run(now, parts, folder, metrics, reporter, clock, start))


def _go(run: Run) -> Result:
    with stop_on_signals() as stop:
        try:
            run.loop(stop)
        except BaseException:
            with suppress(Exception):  # the error that ended the run is the one to tell
                finish(run, stop, interrupted=True)
            raise
        result = finish(run, stop, interrupted=stop.asked)
    if run.checkpoint_error is not None:
        raise run.checkpoint_error
    return result


def _take_back(folder: Path, start: Checkpoint) -> int:
    """Let the run folder be as it was at the checkpoint; what came after it is made again.

    Returns:
        Environment steps of the last line of metrics.
    """
    put_aside_later_than(start.folder)  # first: the newest one is what a crash is resumed from
    mark_interrupted(folder)
    if start.policy is not None:
        save_policy(folder / BEST_POLICY, start.policy)
    elif (folder / BEST_POLICY).exists():
        shutil.rmtree(folder / BEST_POLICY)
    return undo_metrics(folder, start.about.metrics_bytes)


def _check_change(before: Settings[Any], now: Settings[Any]) -> None:
    """Refuse what a resumed run cannot change.

    Raises:
        WoodshedError: for another seed, algorithm, or other things that the networks see.
    """
    if before.algorithm.name != now.algorithm.name:
        raise _unchangeable("algorithm", before.algorithm.name, now.algorithm.name)
    for name in ("seed", "policy_keys", "normalise_observations", "info_keys"):
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            raise _unchangeable(name, old, new)


def _unchangeable(name: str, old: object, new: object) -> WoodshedError:
    return WoodshedError(
        f"{name} was {old!r} and cannot be changed to {new!r} in a resumed run; begin a new one "
        "with woodshed train"
    )


def _worker_logs(folder: Path, settings: Settings[Any]) -> Path | None:
    return folder / WORKER_LOGS if settings.workers else None
