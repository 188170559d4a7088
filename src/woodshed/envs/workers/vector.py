"""Environments in worker processes, and what becomes of the episodes of those that fail."""

import math
import pickle
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.envs.lanes import check_lanes, check_remake
from woodshed.envs.make import EnvironmentFactory
from woodshed.envs.spaces import action_rows
from woodshed.envs.step_arrays import StepArrays
from woodshed.envs.trees import Tree, take_rows, write_rows, zeros_tree
from woodshed.envs.vector import Remade, VectorStep
from woodshed.envs.workers import channel as kinds
from woodshed.envs.workers.block import map_memory, size_memory
from woodshed.envs.workers.job import jobs, pickled
from woodshed.envs.workers.joined_info import JoinedInfo
from woodshed.envs.workers.pool import Answer, Pool
from woodshed.envs.workers.team import Team, failures_in, raise_mistakes
from woodshed.errors import WoodshedError

_STARTING = 60.0
"""Seconds more than a step's for a process to start and make its environments."""


class WorkerVector:
    """Environments in worker processes, stepped side by side: a `SeededVector`.

    For the same seeds, lanes and actions it gives bit for bit what `InProcessVector` gives. An
    environment that raises, crashes or hangs costs an episode, not the run: its worker is started
    anew, the worker's lanes begin another episode, and the step says which were `cut` and why.
    What the failing step did is dropped for all lanes of that worker; the others do not notice.

    Where a failure outside of a step (in `begin`) takes the episode of a lane with it that was not
    asked for, the next step reports that lane as `cut`, without stepping its worker's lanes.

    The processes end with this one, however it ends. Linux and macOS only. After an
    `EnvironmentFailedError` the vector is closed.
    """

    def __init__(
        self,
        envs: Sequence[str | EnvironmentFactory],
        run_seed: int,
        info_keys: Sequence[str] = (),
        first_episodes: Sequence[int] | None = None,
        *,
        workers: int,
        step_timeout: float = 60.0,
        max_failures: int = 5,
        repeat_failed: bool = False,
        log_folder: Path | None = None,
    ) -> None:
        """Start the workers and make the environments in them.

        Args:
            envs: for each lane a Gymnasium id or a function that makes a new environment; functions
                are sent by value where the worker cannot import them
            run_seed: seed of the run, from which each episode's seed is made
            info_keys: info keys that every step must give
            first_episodes: [L] number of the episode that each lane begins with (default: all 0)
            workers: number of processes; each has lanes beside each other
            step_timeout: seconds that a worker may take to step its lanes, or to begin their
                episodes, before it is ended; `inf` waits for ever
            max_failures: so many failures of one worker in the same way, with no episode of its
                lanes that ended in between, are an error
            repeat_failed: begin a failed episode again, instead of the one after it
            log_folder: gets a file `worker-<k>.log` for each, with its stderr

        Raises:
            WoodshedError: a setting is wrong, an id is unknown, something cannot be sent to another
                process, lanes have unequal spaces, or a space cannot be stacked.
            EnvironmentFailedError: an environment cannot be made.
        """
        if sys.platform == "win32":
            raise WoodshedError("worker processes need Linux or macOS; step in process instead")
        firsts = check_lanes(envs, first_episodes)
        _check_settings(len(envs), workers, step_timeout, max_failures)
        shared_out = jobs(envs, run_seed, info_keys, firsts, workers)
        numbers = [range(j.first_lane, j.first_lane + len(j.envs)) for j in shared_out]
        self._lanes = [slice(lanes.start, lanes.stop) for lanes in numbers]
        self._step_timeout = step_timeout
        self._repeat_failed = repeat_failed
        self._episodes = np.array(firsts, np.int64) - 1
        self._cut = np.zeros(len(envs), np.bool_)  # lanes whose loss no step has reported yet
        self._sent = False
        self._begun = False
        self._info = JoinedInfo(info_keys, self._lanes)
        start_timeout = step_timeout + _STARTING
        self._pool = Pool(
            [pickled(job) for job in shared_out], [tuple(lanes) for lanes in numbers], log_folder
        )
        self._closing = weakref.finalize(self, self._pool.close)
        self._team = Team(self._pool, start_timeout, max_failures)
        with self._closing_at_an_error():
            self._spaces = self._team.start()
            size_memory(self._pool.memory, self._spaces, len(envs), workers)
            self._block = map_memory(self._pool.memory, self._spaces, len(envs), workers)

    @property
    def n_envs(self) -> int:
        """Number of lanes L."""
        return len(self._episodes)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's observation."""
        return self._spaces.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's action."""
        return self._spaces.action_space

    @property
    def episodes(self) -> NDArray[np.int64]:
        """[L] number of the episode that each lane is in; -1 before the first reset."""
        return self._episodes.copy()

    def reset(self, first_episode: int | None = None) -> Tree:
        """Begin the next episode in every lane; actions that were sent are dropped.

        Args:
            first_episode: number of the episode to begin with instead, in every lane

        Returns:
            First observations [L, ...].

        Raises:
            WoodshedError: an observation does not fit the observation space's shape or dtype.
            EnvironmentFailedError: a worker failed too often.
        """
        self._refuse_unless_open()
        self._sent = False
        if first_episode is not None:
            self._episodes[:] = first_episode - 1
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
            EnvironmentFailedError: a worker failed too often.
        """
        self._refuse_unless_open()
        self._refuse_if_sent("begin")
        self._begun |= bool(mask.all())
        self._episodes[mask] += 1
        self._cut[mask] = False
        answers = self._begin(mask)
        self._recover(answers, mask)
        observation = zeros_tree(self.observation_space, self.n_envs)
        write_rows(observation, mask, take_rows(self._block.step.observation, mask))
        return observation

    def remake(
        self, episodes: Sequence[int], actions: Sequence[NDArray[Any] | None]
    ) -> list[Remade | None]:
        """Put lanes into episodes that were played before; actions sent are dropped.

        The workers do so side by side. Each step may take `step_timeout`.

        Args:
            episodes: [L] numbers of the episodes, from which every lane goes on counting
            actions: for each lane the actions [T, ...] of its episode's first T steps, T 0 or more;
                None leaves the lane's environment alone

        Returns:
            What each lane gave; None where its actions are None, and for all lanes of a worker that
            failed in it: they need `begin`, which begins the episode after the one given here. The
            failure comes with the next step's `failures`.

        Raises:
            WoodshedError: another number of episodes or actions than of lanes, actions of another
                shape than the action space's, or an observation does not fit its space.
            EnvironmentFailedError: a worker cannot be started again.
        """
        self._refuse_unless_open()
        taken = check_remake(self.n_envs, episodes, actions, self.action_space)
        self._sent, self._begun = False, True
        self._cut[:] = False
        self._episodes[:] = episodes
        self._pool.ask(
            {
                worker: (kinds.REMAKE, pickle.dumps((list(episodes[lanes]), taken[lanes])))
                for worker, lanes in enumerate(self._lanes)
            }
        )
        answers = self._pool.gather(self._step_timeout, self._block.beats)
        failed = failures_in(answers)
        self._team.unreported += failed.values()
        with self._closing_at_an_error():
            self._team.restart(failed)
        raise_mistakes(answers)
        remade: list[Remade | None] = [None] * self.n_envs
        for worker, lanes in enumerate(self._lanes):
            answer = answers[worker]
            if isinstance(answer, bytes):
                remade[lanes] = pickle.loads(answer)
        return remade

    def send(self, action: NDArray[Any]) -> None:
        """Let the workers step; returns at once.

        Args:
            action: [L, ...] within the action space

        Raises:
            WoodshedError: another number of actions than of lanes, actions of another shape than
                the action space's, what was sent before was not received yet, or the environments
                were not reset yet.
        """
        self._refuse_unless_open()
        self._refuse_if_sent("send")
        if not self._begun:
            raise WoodshedError("reset the environments before their first step")
        self._block.action[...] = action_rows(action, self.n_envs, self.action_space)
        self._pool.ask(
            {
                worker: (kinds.STEP, b"")
                for worker, lanes in enumerate(self._lanes)
                if not self._cut[lanes].any()
            }
        )
        self._sent = True

    def receive(self) -> VectorStep:
        """Wait for the workers; those that failed are started again, in new episodes.

        Raises:
            WoodshedError: nothing was sent, or an info key is missing.
            EnvironmentFailedError: a worker failed too often.
        """
        self._refuse_unless_open()
        if not self._sent:
            raise WoodshedError("there is nothing to receive: send actions first")
        answers = self._pool.gather(self._step_timeout)
        self._sent = False
        stepped = np.zeros(self.n_envs, np.bool_)
        for worker, answer in answers.items():
            stepped[self._lanes[worker]] = isinstance(answer, bytes)
        ended = stepped & (self._block.step.terminated | self._block.step.truncated)
        if ended.any():
            self._episodes[ended] += 1
            for worker, lanes in enumerate(self._lanes):
                if ended[lanes].any():
                    self._team.succeeded(worker)
        self._recover(answers, np.zeros(self.n_envs, np.bool_))
        arrays = self._block.step.copied()
        if not stepped.all():
            _blank(arrays, ~stepped)
        cut, failures = self._cut.copy(), tuple(self._team.unreported)
        self._cut[:] = False
        self._team.unreported.clear()
        info = self._info.of_step(answers)
        return VectorStep(
            stepped=stepped, info=info, cut=cut, failures=failures, **arrays._asdict()
        )

    def step(self, action: NDArray[Any]) -> VectorStep:
        """`send` and `receive`."""
        self.send(action)
        return self.receive()

    def close(self) -> None:
        """Close the environments and end the workers, those that do not answer too."""
        self._closing()

    def _begin(self, mask: NDArray[np.bool_]) -> dict[int, Answer]:
        """Ask for the episodes in `_episodes` in these lanes."""
        self._pool.ask(
            {
                worker: (
                    kinds.BEGIN,
                    pickle.dumps((mask[lanes], self._episodes[lanes].tolist())),
                )
                for worker, lanes in enumerate(self._lanes)
                if mask[lanes].any()
            }
        )
        return self._pool.gather(self._step_timeout)

    def _recover(self, answers: Mapping[int, Answer], begun: NDArray[np.bool_]) -> None:
        """Bring back the workers that failed, with all their lanes in new episodes.

        Args:
            answers: of all workers that were asked
            begun: [L] lanes whose new episode the caller asked for; others are cut

        Raises:
            WoodshedError: one of the answers is a mistake of the user's.
            EnvironmentFailedError: a worker failed too often.
        """
        failed = failures_in(answers)
        for worker in failed:
            self._cut[self._lanes[worker]] |= ~begun[self._lanes[worker]]
        if failed:
            with self._closing_at_an_error():
                self._team.bring_back(failed, self._begin_again)
        raise_mistakes(answers)

    def _begin_again(self, workers: Iterable[int]) -> dict[int, Answer]:
        mask = np.zeros(self.n_envs, np.bool_)
        for worker in workers:
            mask[self._lanes[worker]] = True
        if not self._repeat_failed:
            self._episodes[mask] += 1
        return self._begin(mask)

    @contextmanager
    def _closing_at_an_error(self) -> Iterator[None]:
        """Half way through a start, episodes and workers do not agree: nobody may go on there."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _refuse_if_sent(self, what: str) -> None:
        if self._sent:
            raise WoodshedError(f"cannot {what} before what was sent is received")

    def _refuse_unless_open(self) -> None:
        if self._pool.closed:
            raise WoodshedError("the environments are closed")


def _check_settings(n: int, workers: int, step_timeout: float, max_failures: int) -> None:
    if not 1 <= workers <= n:
        raise WoodshedError(f"workers is {workers}, expected 1 to {n}, the number of environments")
    if math.isnan(step_timeout) or step_timeout <= 0:
        raise WoodshedError(f"step_timeout is {step_timeout}, expected more than 0 seconds")
    if max_failures < 1:
        raise WoodshedError(f"max_failures is {max_failures}, expected 1 or more")


def _blank(arrays: StepArrays, rows: NDArray[np.bool_]) -> None:
    """Write over what a worker left in the rows of lanes that did not step."""
    write_rows(arrays.next_observation, rows, take_rows(arrays.observation, rows))
    arrays.reward[rows] = 0
    arrays.terminated[rows] = arrays.truncated[rows] = False
    arrays.success[rows] = np.nan
