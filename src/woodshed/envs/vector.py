"""Several environments stepped as one, each of them a lane: what every way of it offers."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.envs.trees import Tree
from woodshed.envs.workers.failure import Failure


class VectorStep(NamedTuple):
    """What one step of L lanes gave; all arrays are the caller's own."""

    stepped: NDArray[np.bool_]
    """[L] False where this call only reset the lane (Gymnasium's next-step autoreset, or a failed
    environment); what the other fields say of such a lane is no transition"""
    next_observation: Tree
    """[L, ...] what the action led to: the true final observation at an episode's end"""
    reward: NDArray[np.float64]
    """[L]"""
    terminated: NDArray[np.bool_]
    """[L]"""
    truncated: NDArray[np.bool_]
    """[L]"""
    info: dict[str, NDArray[Any]]
    """[L, ...] the info keys asked for, and no others"""
    success: NDArray[np.float64]
    """[L] 1 or 0 from info's `is_success`, else from its `success`; nan where there is neither"""
    observation: Tree
    """[L, ...] what to act on next: the first observation of the next episode where one ended"""
    cut: NDArray[np.bool_]
    """[L] True where the lane's episode was given up in this step, since its environment failed:
    `stepped` is False there, and `observation` is the first one of a new episode"""
    failures: tuple[Failure, ...]
    """what failed since the step before, empty mostly"""


class Remade(NamedTuple):
    """One lane's part of an episode that was played again, t steps of it."""

    observation: Tree
    """[t + 1, ...] in the dtype of the observation space"""
    reward: NDArray[np.float64]
    """[t]"""
    ended: bool
    """whether the episode ended in its last step: then t may be less than was asked for, and the
    lane needs `begin`"""


class VectorEnvironment(Protocol):
    """L environments, stepped together, that reset themselves."""

    @property
    def n_envs(self) -> int:
        """Number of lanes L."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's observation."""

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's action."""

    def reset(self) -> Tree:
        """Begin an episode in every lane; its first observations [L, ...]."""

    def send(self, action: NDArray[Any]) -> None:
        """Take actions [L, ...]; returns at once where the environments step elsewhere."""

    def receive(self) -> VectorStep:
        """What came of the actions that were sent."""

    def step(self, action: NDArray[Any]) -> VectorStep:
        """`send` and `receive`."""

    def close(self) -> None:
        """Close the environments."""


class SeededVector(VectorEnvironment, Protocol):
    """Lanes whose episodes are numbered, each with the seed of (run seed, lane, number).

    So an episode can be played again from its number and its actions.
    """

    @property
    def episodes(self) -> NDArray[np.int64]:
        """[L] number of the episode that each lane is in; -1 before the first."""

    def reset(self, first_episode: int | None = None) -> Tree:
        """Begin the next episode in every lane.

        Args:
            first_episode: number of the episode to begin with instead, in every lane: the same
                number plays the same episodes again

        Returns:
            First observations [L, ...].
        """

    def begin(self, mask: NDArray[np.bool_]) -> Tree:
        """Begin the next episode in some lanes.

        Args:
            mask: [L] which

        Returns:
            A tree [L, ...] with first observations in the rows of these lanes, zeros in others.
        """

    def remake(
        self, episodes: Sequence[int], actions: Sequence[NDArray[Any] | None]
    ) -> list[Remade | None]:
        """Put lanes into episodes that were played before, and play their beginnings again.

        Args:
            episodes: [L] their numbers, from which every lane goes on counting
            actions: for each lane the actions [T, ...] of its episode's first T steps, T 0 or more;
                None leaves the lane's environment alone

        Returns:
            What each lane gave; None where its actions are None or its environment failed: the
            lane then needs `begin`, which begins the episode after the one given here.
        """
