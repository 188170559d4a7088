"""Evaluation: how good a policy is, on environments of its own."""

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.envs import EnvironmentFactory, Failure, SeededVector, Tree
from woodshed.errors import WoodshedError
from woodshed.runners import Episode, EpisodeTracker
from woodshed.training.environments import Stepping, make_vector

BatchPolicy = Callable[[Tree], NDArray[Any]]
"""Observations `[L, …]` to actions `[L, …]` of the environment."""


class Evaluation(NamedTuple):
    """What some episodes with one policy gave."""

    episodes: tuple[Episode, ...]

    @property
    def return_mean(self) -> float:
        """Mean undiscounted return."""
        return float(np.mean([episode.return_sum for episode in self.episodes]))

    @property
    def success_rate(self) -> float | None:
        """Share of episodes that ended in success; None where the environment reports none."""
        reported = [episode.success for episode in self.episodes]
        return None if np.isnan(reported).any() else float(np.mean(reported))

    @property
    def score(self) -> tuple[float, float]:
        """What a better policy has more of: success, then return."""
        return (self.success_rate or 0.0, self.return_mean)


class EvaluationStoppedError(Exception):
    """An evaluation was given up since it was asked to stop."""


class Evaluator:
    """Environments for evaluation, whose episodes are the same each time.

    They are made when they are needed first.
    """

    def __init__(
        self,
        env: str | EnvironmentFactory,
        lanes: int,
        seed: int,
        stepping: Stepping = Stepping(),  # noqa: B008 - frozen
    ) -> None:
        """Take what the environments are made of.

        Args:
            env: id, or a function that makes one.
            lanes: how many are stepped together.
            seed: of the episodes; another one than the training's.
            stepping: where; an episode in which a worker process failed is played again.
        """
        self._make = partial(make_vector, env, lanes, seed, stepping, repeat_failed=True)

    @cached_property
    def environments(self) -> SeededVector:
        """The environments; making them may raise what `make_vector` raises."""
        return self._make()

    def run(
        self,
        policy: BatchPolicy,
        episodes: int,
        first: int = 0,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_failure: Callable[[Failure], None] = lambda failure: None,
    ) -> Evaluation:
        """Play exactly `episodes` episodes, which are settled before the first step.

        Lane l of L plays every L-th one, so that quick episodes do not count more than slow ones.

        Args:
            policy: acts without exploring.
            episodes: how many.
            first: number of the first one in each lane; the same number, the same episodes.
            stop: asked before each step whether to give up.
            on_failure: told of worker processes that failed.

        Raises:
            EvaluationStoppedError: `stop` said so.
            WoodshedError: an episode's return is not finite.
            EnvironmentFailedError: a worker process failed too often.
        """
        environments = self.environments
        lanes = environments.n_envs
        due = [len(range(lane, episodes, lanes)) for lane in range(lanes)]
        played: list[list[Episode]] = [[] for _ in range(lanes)]
        tracker = EpisodeTracker(lanes)
        observation = environments.reset(first_episode=first)
        while any(len(done) < count for done, count in zip(played, due, strict=True)):
            if stop():
                raise EvaluationStoppedError
            step = environments.step(policy(observation))
            observation = step.observation
            for failure in step.failures:
                on_failure(failure)
            for lane, episode in tracker.follow(step).items():
                if len(played[lane]) < due[lane]:
                    played[lane].append(_checked(episode, lane))
        return Evaluation(tuple(played[i % lanes][i // lanes] for i in range(episodes)))

    def close(self) -> None:
        """Close the environments, where they were made."""
        if "environments" in self.__dict__:
            self.environments.close()


def _checked(episode: Episode, lane: int) -> Episode:
    if not math.isfinite(episode.return_sum):
        raise WoodshedError(
            f"the rewards of an evaluation episode in environment {lane} sum to "
            f"{episode.return_sum}; expected a finite number: the environment's rewards or the "
            "policy's actions are not"
        )
    return episode
