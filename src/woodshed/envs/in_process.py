"""Environments in this process."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.envs.info import stack_info, success_of
from woodshed.envs.lanes import check_lane, check_lanes, check_remake
from woodshed.envs.make import EnvironmentFactory, make_environment
from woodshed.envs.seeding import SeededEpisodes
from woodshed.envs.spaces import action_rows
from woodshed.envs.step_arrays import StepArrays
from woodshed.envs.trees import (
    Tree,
    check_observation,
    copy_tree,
    empty_like_tree,
    take_rows,
    write_rows,
    zeros_tree,
)
from woodshed.envs.vector import Remade, VectorStep
from woodshed.errors import WoodshedError


class InProcessVector:
    """Environments in this process, stepped one after another: a `SeededVector`.

    A lane whose episode ended is reset in the same step. Every episode has its own seed, see
    `SeededEpisodes`. Best where a step is quick; the environments of one process share one core.
    What an environment raises comes through, but for `remake`, which goes on without its lane.
    """

    def __init__(
        self,
        envs: Sequence[str | EnvironmentFactory],
        run_seed: int,
        info_keys: Sequence[str] = (),
        first_episodes: Sequence[int] | None = None,
        *,
        first_lane: int = 0,
    ) -> None:
        """Make the environments.

        Args:
            envs: for each lane a Gymnasium id or a function that makes a new environment
            run_seed: seed of the run, from which each episode's seed is made
            info_keys: info keys that every step must give
            first_episodes: [L] number of the episode that each lane begins with (default: all 0)
            first_lane: number of the first lane, for seeds and messages, where these lanes are a
                part of more

        Raises:
            WoodshedError: no lane, lanes with unequal spaces, one environment object in two lanes,
                an observation space that cannot be stacked.
        """
        firsts = check_lanes(envs, first_episodes)
        self._info_keys = tuple(info_keys)
        self._first_lane = first_lane
        self._sent: NDArray[Any] | None = None
        self._closing = ExitStack()
        lanes: list[SeededEpisodes] = []
        with ExitStack() as undo:  # closes those made so far where a later one cannot be made
            for lane, (env, first) in enumerate(zip(envs, firsts, strict=True), first_lane):
                made = make_environment(env)
                undo.callback(made.close)
                lanes.append(SeededEpisodes(made, run_seed, lane, first))
                check_lane(lanes)
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
        """Begin the next episode in every lane; actions that were sent are dropped.

        Args:
            first_episode: number of the episode to begin with instead, in every lane: the same
                number plays the same episodes again

        Returns:
            First observations [L, ...].

        Raises:
            WoodshedError: an observation does not fit the observation space's shape or dtype.
        """
        self._sent = None
        if first_episode is not None:
            for env in self.environments:
                env.next_episode = first_episode
        return self.begin(np.ones(self.n_envs, np.bool_))

    def begin(self, mask: NDArray[np.bool_]) -> Tree:
        """Begin the next episode in some lanes.

        Args:
            mask: [L] which

        Returns:
            A tree [L, ...] with first observations in the rows of these lanes, zeros in others.

        Raises:
            WoodshedError: an observation does not fit the observation space's shape or dtype, or
                what was sent was not received yet.
        """
        self._refuse_if_sent("begin")
        observation = copy_tree(self._shape)
        for row in np.flatnonzero(mask).tolist():
            write_rows(observation, row, self._first_observation(row))
        return observation

    def remake(
        self,
        episodes: Sequence[int],
        actions: Sequence[NDArray[Any] | None],
        *,
        after_step: Callable[[], object] | None = None,
        raise_failures: bool = False,
    ) -> list[Remade | None]:
        """Put lanes into episodes that were played before; actions sent are dropped.

        Args:
            episodes: [L] numbers of the episodes, from which every lane goes on counting
            actions: for each lane the actions [T, ...] of its episode's first T steps, T 0 or more;
                None leaves the lane's environment alone
            after_step: called after each step of each lane
            raise_failures: let an exception of an environment come through

        Returns:
            What each lane gave; None where its actions are None or its environment raised an
            exception: the lane then needs `begin`, which begins the episode after the one given
            here.

        Raises:
            WoodshedError: another number of episodes or actions than of lanes, actions of another
                shape than the action space's, or an observation does not fit its space.
        """
        taken = check_remake(self.n_envs, episodes, actions, self.action_space)
        self._sent = None
        remade: list[Remade | None] = [None] * self.n_envs
        for row, (episode, rows) in enumerate(zip(episodes, taken, strict=True)):
            env = self.environments[row]
            if rows is None:
                env.next_episode = episode + 1
                continue
            env.next_episode = episode
            try:
                remade[row] = self._remake_lane(row, rows, after_step or bool)
            except WoodshedError:
                raise
            except Exception:
                if raise_failures:
                    raise
        return remade

    def send(self, action: NDArray[Any]) -> None:
        """Take actions, of which a copy is kept until `receive`.

        Args:
            action: [L, ...] within the action space

        Raises:
            WoodshedError: another number of actions than of lanes, actions of another shape than
                the action space's, or what was sent before was not received yet.
        """
        self._refuse_if_sent("send")
        self._sent = action_rows(action, self.n_envs, self.action_space)

    def receive(self) -> VectorStep:
        """Step every lane, and reset those whose episode ended.

        Raises:
            WoodshedError: nothing was sent, or an info key is missing.
        """
        if self._sent is None:
            raise WoodshedError("there is nothing to receive: send actions first")
        actions, self._sent = self._sent, None
        n = self.n_envs
        into = StepArrays(
            observation=empty_like_tree(self._shape),
            next_observation=empty_like_tree(self._shape),
            reward=np.empty(n),
            terminated=np.empty(n, np.bool_),
            truncated=np.empty(n, np.bool_),
            success=np.empty(n),
        )
        info = self.step_into(actions, into)
        return VectorStep(
            stepped=np.ones(n, np.bool_),
            info=info,
            cut=np.zeros(n, np.bool_),
            failures=(),
            **into._asdict(),
        )

    def step(self, action: NDArray[Any]) -> VectorStep:
        """`send` and `receive`."""
        self.send(action)
        return self.receive()

    def step_into(self, actions: NDArray[Any], into: StepArrays) -> dict[str, NDArray[Any]]:
        """Step every lane, and reset those whose episode ended, writing into given arrays.

        Args:
            actions: [L, ...] in the action space's dtype; they may be changed
            into: arrays [L, ...]

        Returns:
            The asked info keys.

        Raises:
            WoodshedError: an info key is missing.
        """
        infos = []
        ended = []
        for row, env in enumerate(self.environments):
            reached, reward, terminated, truncated, info = env.step(actions[row])
            write_rows(into.next_observation, row, reached)
            into.reward[row] = reward
            into.terminated[row] = terminated
            into.truncated[row] = truncated
            into.success[row] = success_of(info)
            infos.append(info)
            if terminated or truncated:
                ended.append(row)
        # Before the resets: an environment may write its next info into the same arrays.
        stacked = stack_info(infos, self._info_keys, self._first_lane)
        write_rows(into.observation, slice(None), into.next_observation)
        for row in ended:
            first, _ = self.environments[row].reset()
            write_rows(into.observation, row, first)
        return stacked

    def close(self) -> None:
        """Close every environment, also where closing one of them fails."""
        self._closing.close()

    def _first_observation(self, row: int) -> Any:
        first, _ = self.environments[row].reset()
        check_observation(self._shape, first, self._first_lane + row)
        return first

    def _remake_lane(
        self, row: int, actions: NDArray[Any], after_step: Callable[[], object]
    ) -> Remade:
        observation = zeros_tree(self.observation_space, len(actions) + 1)
        reward = np.zeros(len(actions))
        write_rows(observation, 0, self._first_observation(row))
        time, ended = 0, False
        while time < len(actions) and not ended:
            reached, reward[time], terminated, truncated, _ = self.environments[row].step(
                actions[time]
            )
            time += 1
            write_rows(observation, time, reached)
            ended = bool(terminated or truncated)
            after_step()
        return Remade(take_rows(observation, slice(time + 1)), reward[:time], ended)

    def _refuse_if_sent(self, what: str) -> None:
        if self._sent is not None:
            raise WoodshedError(f"cannot {what} before what was sent is received")
