"""From a run to a checkpoint, and back."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from woodshed.files import writing_to
from woodshed.training.checkpoint import (
    About,
    Checkpoint,
    Lanes,
    Ratio,
    fill_checkpoint,
    from_saved,
    to_saved,
)
from woodshed.training.checkpoint_folder import new_checkpoint
from woodshed.training.evaluation import Evaluation
from woodshed.training.named_arrays import prefixed, to_named, under
from woodshed.training.progress import Progress
from woodshed.training.restore import LOSSES, NORMALISER, OBSERVATION, SENT, STATE
from woodshed.training.run_metrics import columns
from woodshed.training.updates import exact_ratio

if TYPE_CHECKING:
    from woodshed.training.run import Run


def write_checkpoint(run: "Run") -> Path:
    """Write all that is needed to go on from here; where it lies.

    Raises:
        WoodshedError: the disk refuses.
    """
    parts = run.parts
    arrays = {
        **to_named(STATE, run.state),
        **to_named(OBSERVATION, parts.runner.observation),
        **prefixed(LOSSES, columns(run.losses)),
    }
    if parts.normaliser is not None:
        arrays |= prefixed(NORMALISER, parts.normaliser.to_arrays())
    if run.sent is not None:
        arrays[SENT] = run.sent
    tracker = parts.runner.tracker
    about = About(
        progress=replace(run.progress, train_seconds=run.clock.seconds),
        lanes=Lanes(run.episodes, tracker.return_sum.tolist(), tracker.length.tolist()),
        recent=to_saved(run.recent),
        best=None if run.best is None else to_saved(run.best[0].episodes),
        action_generator=dict(parts.runner.generator.bit_generator.state),
        ratio=Ratio(run.settings.updates_per_step, run.settings.learning_starts),
        metrics_bytes=run.metrics.flushed_size(),
        checksums={},
    )
    policy = None if run.best is None else run.best[1]
    steps, keep = run.progress.env_steps, run.settings.keep_checkpoints
    with (
        writing_to(run.folder, "write a checkpoint into"),
        new_checkpoint(run.folder, steps, keep) as (aside, path),
    ):
        fill_checkpoint(aside, about, arrays, policy, parts.buffer, run.last_checkpoint)
    return path


def go_on_from(run: "Run", checkpoint: Checkpoint) -> None:
    """Put a new run, whose parts were made from the checkpoint, where the old one was."""
    about, settings = checkpoint.about, run.settings
    ratio = Ratio(settings.updates_per_step, settings.learning_starts)
    run.progress = changed_ratio(about.progress, about.ratio, ratio)
    run.recent.extend(from_saved(about.recent))
    losses = under(LOSSES, checkpoint.arrays)
    rows = zip(*losses.values(), strict=True)
    run.losses = [dict(zip(losses, row, strict=True)) for row in rows]
    if about.best is not None and checkpoint.policy is not None:
        run.best = Evaluation(tuple(from_saved(about.best))), checkpoint.policy
    run.last_checkpoint = checkpoint.folder
    sent = checkpoint.arrays.get(SENT)
    run.sent = sent if sent is not None and len(sent) == settings.n_envs else None
    run.reporter.advance(run.progress.env_steps)


def changed_ratio(progress: Progress, before: Ratio, now: Ratio) -> Progress:
    """The progress of a run that goes on with another replay ratio, or another start of learning.

    The new one counts from here on and not from the first step: the updates that were due by now
    stay what they were.
    """
    if before == now:
        return replace(progress)
    pending = progress.owed(exact_ratio(before.updates_per_step), before.learning_starts)
    return replace(
        progress,
        owed_since_step=max(progress.env_steps, now.learning_starts),
        owed_since_updates=progress.updates + pending,
    )
