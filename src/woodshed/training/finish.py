"""The end of a run: policies, the final evaluation, the result."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from woodshed.training.evaluation import EvaluationStoppedError
from woodshed.training.interrupt import StopRequest
from woodshed.training.policy import save_policy
from woodshed.training.result import Result
from woodshed.training.run_folder import BEST_POLICY, LAST_POLICY

if TYPE_CHECKING:
    from woodshed.training.run import Run

HELD_OUT = 1_000_000
"""First episode of the final evaluation: no evaluation before it gets that far."""


def finish(run: "Run", stop: StopRequest, *, interrupted: bool) -> Result:
    """Save the policies, judge the best one, write the result.

    Args:
        run: that has ended.
        stop: asked meanwhile, the final evaluation is given up.
        interrupted: whether it ended before its last step; then nothing is judged.

    Raises:
        WoodshedError: the disk refuses, or a return is not finite.
        EnvironmentFailedError: environments of the evaluation failed too often.
    """
    jax.block_until_ready(run.state)
    progress, seconds = run.progress, run.clock.seconds
    last = run.policy()
    save_policy(run.folder / LAST_POLICY, last)
    if run.best is None and _all_finite(last.actor):
        save_policy(run.folder / BEST_POLICY, last)
    result = Result(
        success_rate=None,
        return_mean=None,
        episodes=0,
        env_steps=progress.env_steps,
        updates=progress.updates,
        train_seconds=seconds,
        steps_per_second=progress.env_steps / seconds,
        solved_at_step=progress.solved_at_step,
        solved_at_seconds=progress.solved_at_seconds,
        interrupted=True,
    )
    result.write(run.folder)  # stands if the final evaluation does not come to its end
    if interrupted:
        return result
    best = last if run.best is None else run.best[1]
    try:
        final = run.parts.evaluator.run(
            best,
            run.settings.final_episodes,
            first=HELD_OUT,
            stop=lambda: stop.asked,
            on_failure=run.note_in_evaluation,
        )
    except EvaluationStoppedError:
        return result
    result = replace(
        result,
        success_rate=final.success_rate,
        return_mean=final.return_mean,
        episodes=len(final.episodes),
        interrupted=False,
    )
    result.write(run.folder)
    return result


def _all_finite(tree: Any) -> bool:
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree))
