"""Evaluation: how good a policy is, on environments of its own."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.envs import EnvironmentFactory, InProcessVector, Tree
from woodshed.errors import WoodshedError
from woodshed.runners import Episode, EpisodeTracker

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


class Evaluator:
    """Environments for evaluation, whose episodes are the same each time."""

    def __init__(self, env: str | EnvironmentFactory, lanes: int, seed: int) -> None:
        """Make the environments.

        Args:
            env: id, or a function that makes one.
            lanes: how many are stepped together.
            seed: of the episodes; another one than the training's.
        """
        self._environments = InProcessVector([env] * lanes, run_seed=seed)
        self.observation_space = self._environments.observation_space
        self.action_space = self._environments.action_space

    def run(self, policy: BatchPolicy, episodes: int, first: int = 0) -> Evaluation:
        """Play exactly `episodes` episodes, which are settled before the first step.

        Lane l of L plays every L-th one, so that quick episodes do not count more than slow ones.

        Args:
            policy: acts without exploring.
            episodes: how many.
            first: number of the first one in each lane; the same number, the same episodes.

        Raises:
            WoodshedError: an episode's return is not finite.
        """
        environments = self._environments
        lanes = environments.n_envs
        due = [len(range(lane, episodes, lanes)) for lane in range(lanes)]
        played: list[list[Episode]] = [[] for _ in range(lanes)]
        tracker = EpisodeTracker(lanes)
        observation = environments.reset(first_episode=first)
        while any(len(done) < count for done, count in zip(played, due, strict=True)):
            step = environments.step(policy(observation))
            observation = step.observation
            for lane, episode in tracker.follow(step).items():
                if len(played[lane]) < due[lane]:
                    played[lane].append(_checked(episode, lane))
        return Evaluation(tuple(played[i % lanes][i // lanes] for i in range(episodes)))

    def close(self) -> None:
        """Close the environments."""
        self._environments.close()


def _checked(episode: Episode, lane: int) -> Episode:
    if not math.isfinite(episode.return_sum):
        raise WoodshedError(
            f"the rewards of an evaluation episode in environment {lane} sum to "
            f"{episode.return_sum}; expected a finite number: the environment's rewards or the "
            "policy's actions are not"
        )
    return episode
