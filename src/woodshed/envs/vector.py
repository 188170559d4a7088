"""Several environments stepped as one, each of them a lane."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.envs.info import stack_info, success_of
from woodshed.envs.make import EnvironmentFactory, make_environment
from woodshed.envs.seeding import SeededEpisodes
from woodshed.envs.trees import (
    Tree,
    check_observation,
    copy_tree,
    empty_like_tree,
    write_rows,
    zeros_tree,
)
from woodshed.errors import WoodshedError


class VectorStep(NamedTuple):
    """What one step of L lanes gave; all arrays are the caller's own."""

    stepped: NDArray[np.bool_]
    """[L] False where this call only reset the lane (Gymnasium's next-step autoreset); what the
    other fields say of such a lane is no transition"""
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

    def step(self, action: NDArray[Any]) -> VectorStep:
        """Take actions [L, ...]."""

    def close(self) -> None:
        """Close the environments."""


class InProcessVector:
    """Environments in this process, stepped one after another.

    A lane whose episode ended is reset in the same step. Every episode has its own seed, see
    `SeededEpisodes`. Best where a step is quick; the environments of one process share one core.
    """

    def __init__(
        self,
        envs: Sequence[str | EnvironmentFactory],
        run_seed: int,
        info_keys: Sequence[str] = (),
        first_episodes: Sequence[int] | None = None,
    ) -> None:
        """Make the environments.

        Args:
            envs: for each lane a Gymnasium id or a function that makes a new environment
            run_seed: seed of the run, from which each episode's seed is made
            info_keys: info keys that every step must give
            first_episodes: [L] number of the episode that each lane begins with (default: all 0)

        Raises:
            WoodshedError: no lane, lanes with unequal spaces, one environment object in two lanes,
                an observation space that cannot be stacked.
        """
        if isinstance(envs, str) or len(envs) == 0:
            raise WoodshedError(f"expected one id or function for each lane, got {envs!r}")
        firsts = [0] * len(envs) if first_episodes is None else list(first_episodes)
        if len(firsts) != len(envs):
            raise WoodshedError(f"{len(firsts)} first episodes were given for {len(envs)} lanes")
        self._info_keys = tuple(info_keys)
        self._closing = ExitStack()
        lanes: list[SeededEpisodes] = []
        with ExitStack() as undo:  # closes those made so far where a later one cannot be made
            for lane, (env, first) in enumerate(zip(envs, firsts, strict=True)):
                made = make_environment(env)
                undo.callback(made.close)
                lanes.append(SeededEpisodes(made, run_seed, lane, first))
                _check_lane(lanes)
            self.observation_space: gymnasium.Space[Any] = lanes[0].observation_space
            self.action_space: gymnasium.Space[Any] = lanes[0].action_space
            self._shape = zeros_tree(self.observation_space, len(lanes))
            self._closing = undo.pop_all()
        self.environments: tuple[SeededEpisodes, ...] = tuple(lanes)

    @property
    def n_envs(self) -> int:
        """Number of lanes L."""
        return len(self.environments)

    @property
    def episodes(self) -> NDArray[np.int64]:
        """[L] number of the episode that each lane is in; -1 before the first reset."""
        return np.array([env.next_episode - 1 for env in self.environments], np.int64)

    def reset(self, first_episode: int | None = None) -> Tree:
        """Begin the next episode in every lane.

        Args:
            first_episode: number of the episode to begin with instead, in every lane: the same
                number plays the same episodes again

        Returns:
            First observations [L, ...].

        Raises:
            WoodshedError: an observation does not fit the observation space's shape or dtype.
        """
        observation = empty_like_tree(self._shape)
        for lane, env in enumerate(self.environments):
            if first_episode is not None:
                env.next_episode = first_episode
            first, _ = env.reset()
            check_observation(self._shape, first, lane)
            write_rows(observation, lane, first)
        return observation

    def step(self, action: NDArray[Any]) -> VectorStep:
        """Step every lane, and reset those whose episode ended.

        Args:
            action: [L, ...] within the action space

        Raises:
            WoodshedError: another number of actions than of lanes, or an info key is missing.
        """
        n = len(self.environments)
        actions = np.array(action)  # a copy: an environment may change the action that it is given
        if len(actions) != n:
            raise WoodshedError(f"{len(actions)} actions were given for {n} lanes")
        next_observation = empty_like_tree(self._shape)
        reward = np.empty(n)
        terminated, truncated = np.empty(n, np.bool_), np.empty(n, np.bool_)
        success = np.empty(n)
        infos = []
        for lane, env in enumerate(self.environments):
            reached, reward[lane], terminated[lane], truncated[lane], info = env.step(actions[lane])
            write_rows(next_observation, lane, reached)
            success[lane] = success_of(info)
            infos.append(info)
        # Before the resets: an environment may write its next info into the same arrays.
        stacked = stack_info(infos, self._info_keys)
        observation = copy_tree(next_observation)
        for lane in np.flatnonzero(terminated | truncated).tolist():
            first, _ = self.environments[lane].reset()
            write_rows(observation, lane, first)
        return VectorStep(
            np.ones(n, np.bool_),
            next_observation,
            reward,
            terminated,
            truncated,
            stacked,
            success,
            observation,
        )

    def close(self) -> None:
        """Close every environment, also where closing one of them fails."""
        self._closing.close()


def _check_lane(lanes: Sequence[SeededEpisodes]) -> None:
    """Check the newest lane against those before it."""
    first, newest = lanes[0], lanes[-1]
    if any(newest.unwrapped is lane.unwrapped for lane in lanes[:-1]):
        raise WoodshedError(
            f"the function for lane {newest.lane} returned the same environment object as an "
            "earlier one; it must make a new environment at each call"
        )
    for what in ("observation_space", "action_space"):
        expected, given = getattr(first, what), getattr(newest, what)
        if given != expected:
            raise WoodshedError(
                f"all lanes need equal spaces: the {what} of lane 0 is {expected}, that of lane "
                f"{newest.lane} is {given}"
            )
