"""`woodshed evaluate DIR`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from woodshed.cli.parsing import parse
from woodshed.envs import Failure
from woodshed.errors import WoodshedError
from woodshed.training import Evaluator, load_policy
from woodshed.training.environments import Stepping
from woodshed.training.run_folder import BEST_POLICY, LAST_POLICY, check_run_folder, read_settings


@dataclass(frozen=True)
class EvaluateCommand:
    """Evaluate a trained policy, acting without exploration."""

    folder: tyro.conf.Positional[Path]
    """Run folder."""
    episodes: int = 50
    """Episodes to play."""
    policy: Literal["best", "last"] = "best"
    """The policy of the best evaluation, or that of the last step."""
    seed: int = 1
    """Seed of the episodes."""
    n_envs: int = 4
    """Environments that are stepped together."""
    workers: int = 0
    """Processes that the environments are spread over; 0 steps them in this one."""
    env: str | None = None
    """Another environment than the one trained on."""


def main(args: Sequence[str]) -> int:
    """Evaluate, and print the numbers as JSON."""
    command = parse(EvaluateCommand, args, command="evaluate")
    for name, least in (("episodes", 1), ("n_envs", 1), ("workers", 0)):
        if getattr(command, name) < least:
            raise WoodshedError(f"{name} is {getattr(command, name)}, expected at least {least}")
    check_run_folder(command.folder)
    env = command.env or read_settings(command.folder)[0]
    if env is None:
        raise WoodshedError(
            f"the environment of {command.folder} was made by a function; name one with --env"
        )
    policy = load_policy(
        command.folder / (BEST_POLICY if command.policy == "best" else LAST_POLICY)
    )
    lanes = min(command.n_envs, command.episodes)
    if command.workers > lanes:
        raise WoodshedError(
            f"workers is {command.workers}, expected at most one for each of {lanes} environments"
        )
    evaluator = Evaluator(env, lanes, command.seed, Stepping(command.workers))
    try:
        environments = evaluator.environments
        policy.check_spaces(environments.observation_space, environments.action_space)
        evaluation = evaluator.run(policy, command.episodes, on_failure=_tell)
    finally:
        evaluator.close()
    returns = [episode.return_sum for episode in evaluation.episodes]
    print(
        json.dumps(
            {
                "success_rate": evaluation.success_rate,
                "return_mean": evaluation.return_mean,
                "return_std": float(np.std(returns)),
                "length_mean": float(np.mean([e.length for e in evaluation.episodes])),
                "episodes": len(evaluation.episodes),
            },
            indent=2,
        )
    )
    return 0


def _tell(failure: Failure) -> None:
    print(f"worker {failure.worker} failed: {failure.report}", file=sys.stderr)
