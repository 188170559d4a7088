"""How the environments of a run are stepped: in this process, or in worker processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from woodshed.envs import EnvironmentFactory, InProcessVector, SeededVector, WorkerVector


@dataclass(frozen=True)
class Stepping:
    """Where environments are stepped."""

    workers: int = 0
    """Processes; 0: this one."""
    step_timeout: float = 60.0
    """Seconds that a process may take for a step; 0: as many as it likes."""
    max_failures: int = 5
    """Same failures of a process in a row that are too many."""
    log_folder: Path | None = None
    """Where the processes' error output goes; None: nowhere but into the report of a failure."""


def make_vector(
    env: str | EnvironmentFactory,
    lanes: int,
    run_seed: int,
    stepping: Stepping,
    *,
    info_keys: Sequence[str] = (),
    first_episodes: Sequence[int] | None = None,
    repeat_failed: bool = False,
) -> SeededVector:
    """Make `lanes` environments that are stepped together.

    Args:
        env: Gymnasium id, or a function that makes an environment.
        lanes: how many.
        run_seed: from which each episode's seed is made.
        stepping: where.
        info_keys: info keys that every step must give.
        first_episodes: `[L]` number of the episode that each begins with; all 0 by default.
        repeat_failed: whether an episode in which its worker process failed is played again,
            instead of the next one.

    Raises:
        WoodshedError: for environments that cannot be made, or not be stepped together.
        EnvironmentFailedError: a worker process failed while it made them.
    """
    if stepping.workers == 0:
        return InProcessVector([env] * lanes, run_seed, info_keys, first_episodes)
    return WorkerVector(
        [env] * lanes,
        run_seed,
        info_keys,
        first_episodes,
        workers=min(stepping.workers, lanes),
        step_timeout=stepping.step_timeout or float("inf"),
        max_failures=stepping.max_failures,
        repeat_failed=repeat_failed,
        log_folder=stepping.log_folder,
    )
