"""Putting the parts of a run together, from its settings."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np

from woodshed.connectors import Encoder, make_encoder
from woodshed.envs import (
    EnvironmentFactory,
    InProcessVector,
    SeededVector,
    goal_functions,
    has_goals,
    make_environment,
    probe_info_space,
    warn_of_other_rewards,
)
from woodshed.errors import WoodshedError
from woodshed.replay import Hindsight, ReplayBuffer
from woodshed.runners import Runner, normalised_actions
from woodshed.training.checkpoint import Checkpoint
from woodshed.training.environments import Stepping, make_vector
from woodshed.training.evaluation import Evaluator
from woodshed.training.normaliser import Normaliser
from woodshed.training.restore import (
    first_episodes,
    restore_normaliser,
    restored_runner,
    restored_state,
)
from woodshed.training.seeds import derive_seeds
from woodshed.training.settings import Settings


@dataclass(frozen=True)
class Parts:
    """What a run is made of, and what it begins with or goes on from."""

    environments: SeededVector
    evaluator: Evaluator
    buffer: ReplayBuffer
    runner: Runner
    encoder: Encoder
    state: Any
    """The algorithm's first state."""
    normaliser: Normaliser | None
    """None where observations are left as they are."""
    key: jax.Array
    """Of exploration."""


def make_parts(
    env: str | EnvironmentFactory,
    settings: Settings[Any],
    closing: ExitStack,
    *,
    log_folder: Path | None = None,
    checkpoint: Checkpoint | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Parts:
    """Make the parts of a run.

    Args:
        env: Gymnasium id, or a function that makes an environment.
        settings: of the run.
        closing: is given the environments to close, those too that were made before an error.
        log_folder: where worker processes write their errors.
        checkpoint: what to go on from; None: a new run.
        say: told what of the checkpoint could not be brought back exactly.

    Raises:
        WoodshedError: for an environment, or a checkpoint, that the settings do not fit.
        EnvironmentFailedError: a worker process failed while it made the environments.
    """
    seeds = derive_seeds(settings.seed)
    judge = make_environment(env)  # hindsight asks its reward function
    closing.callback(judge.close)
    stepping = Stepping(settings.workers, settings.step_timeout, settings.max_failures, log_folder)
    environments = make_vector(
        env,
        settings.n_envs,
        seeds.environments,
        stepping,
        info_keys=settings.info_keys,
        first_episodes=None if checkpoint is None else first_episodes(checkpoint, settings.n_envs),
    )
    closing.callback(environments.close)
    if isinstance(environments, InProcessVector) and any(
        judge.unwrapped is lane.unwrapped for lane in environments.environments
    ):
        raise WoodshedError(
            "the function for the environment returned the same object twice; it must make a new "
            "environment at each call, since evaluation must not disturb the training's"
        )
    observation_space = environments.observation_space
    action_space = normalised_actions(environments.action_space)
    encoder = make_encoder(
        observation_space, settings.policy_keys or None, settings.observation_clip
    )
    buffer = ReplayBuffer(
        observation_space,
        action_space,
        settings.capacity,
        n_envs=settings.n_envs,
        gamma=settings.gamma,
        n_step=(settings.n_step[0], settings.n_step[-1]),
        hindsight=_hindsight(settings, judge),
        info_space=probe_info_space(env, settings.info_keys) if settings.info_keys else None,
        seed=seeds.replay,
    )
    key_init, key_act = jax.random.split(jax.random.key(seeds.algorithm))
    state = settings.algorithm.init(key_init, encoder.size, int(np.prod(action_space.shape)))
    if checkpoint is None:
        generator = np.random.default_rng(seeds.actions)
        runner = Runner(environments, buffer, generator, settings.info_keys)
    else:
        state = restored_state(checkpoint, state)
        buffer.load(checkpoint.replay)
        runner = restored_runner(checkpoint, environments, buffer, settings.info_keys, say)
    most_episodes = max(settings.evaluate_episodes, settings.final_episodes)
    of_evaluation = replace(stepping, log_folder=log_folder and log_folder / "evaluation")
    lanes = min(settings.n_envs, most_episodes)
    evaluator = Evaluator(env, lanes, seeds.evaluation, of_evaluation)
    closing.callback(evaluator.close)
    normaliser = None
    if settings.normalise_observations:
        normaliser = Normaliser(observation_space, runner.observation)
        if checkpoint is not None:
            restore_normaliser(checkpoint, normaliser, observation_space)
    return Parts(
        environments=environments,
        evaluator=evaluator,
        buffer=buffer,
        runner=runner,
        encoder=encoder,
        state=state,
        normaliser=normaliser,
        key=key_act,
    )


def _hindsight(settings: Settings[Any], env: gymnasium.Env[Any, Any]) -> Hindsight | None:
    choice = settings.hindsight
    goals = has_goals(env.observation_space)
    if choice == "none" or (choice == "auto" and not goals):
        for name in ("hindsight_k", "info_keys"):
            if settings.is_given(name):
                raise WoodshedError(f"{name} does nothing without hindsight: leave it out")
        return None
    if not goals:
        raise WoodshedError(
            f"hindsight {choice!r} was asked for, but the environment has no goals "
            "(achieved_goal and desired_goal in its observations); use hindsight 'none'"
        )
    functions = goal_functions(env)
    warn_of_other_rewards(env, functions.compute_reward, settings.info_keys)
    return Hindsight(
        "future" if choice == "auto" else choice,
        settings.hindsight_k,
        compute_reward=functions.compute_reward,
        compute_terminated=functions.compute_terminated,
    )
