"""Workers that are started, and started again after they failed, until they fail too often."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import cloudpickle

from woodshed.envs.lanes import check_equal_space
from woodshed.envs.workers.block import Spaces
from woodshed.envs.workers.failure import Failure, Streak, given_up
from woodshed.envs.workers.pool import Answer, Pool
from woodshed.errors import EnvironmentFailedError, WoodshedError


class Team:
    """A pool, how often each of its workers failed, and what is to be reported of that.

    Attributes:
        unreported: failures that no step has told of yet; an `EnvironmentFailedError` takes them
            along.
    """

    def __init__(self, pool: Pool, start_timeout: float, max_failures: int) -> None:
        """Take over a pool that was not started.

        Args:
            pool: the workers
            start_timeout: seconds for a worker to make its environments
            max_failures: so many failures in the same way, without a success in between, are an
                error
        """
        self._pool = pool
        self._start_timeout = start_timeout
        self._max_failures = max_failures
        self._streaks = [Streak()] * len(pool.lanes)
        self.unreported: list[Failure] = []

    def start(self) -> Spaces:
        """Start all workers for the first time; the spaces of their environments.

        Raises:
            WoodshedError: an environment cannot be made by a mistake of the user's, or the workers'
                environments have unequal spaces.
            EnvironmentFailedError: an environment cannot be made.
        """
        self._pool.start(range(len(self._pool.lanes)))
        answers = self._pool.gather(self._start_timeout)
        raise_mistakes(answers)
        failed = failures_in(answers)
        self.unreported += failed.values()
        for failure in failed.values():
            raise self._given_up(failure, 1)
        self._spaces = _spaces(answers[0])
        self._check_spaces(answers)
        return self._spaces

    def restart(self, workers: Iterable[int]) -> None:
        """Start workers again, their lanes in no episode yet.

        Raises:
            EnvironmentFailedError: one of them cannot be started.
        """
        waiting, failed = list(workers), dict[int, Failure]()
        for _ in range(self._max_failures):  # the bound for failures that are never alike
            if not waiting:
                return
            self._pool.start(waiting)
            answers = self._pool.gather(self._start_timeout)
            raise_mistakes(answers)
            self._check_spaces(answers)
            failed = failures_in(answers)
            self._count(failed.values())
            waiting = list(failed)
        for failure in failed.values():
            raise self._given_up(failure, self._max_failures)

    def bring_back(
        self,
        failed: Mapping[int, Failure],
        begin: Callable[[Iterable[int]], Mapping[int, Answer]],
    ) -> None:
        """Start failed workers again, until their lanes are in episodes.

        Args:
            failed: how each of them failed
            begin: begins episodes in all lanes of these workers

        Raises:
            EnvironmentFailedError: one of them failed too often.
        """
        for _ in range(self._max_failures):  # as above
            self._count(failed.values())
            self.restart(failed)
            answers = begin(failed)
            raise_mistakes(answers)
            failed = failures_in(answers)
            if not failed:
                return
        self.unreported += failed.values()
        for failure in failed.values():
            raise self._given_up(failure, self._max_failures)

    def succeeded(self, worker: int) -> None:
        """Count a worker's failures from nought again."""
        self._streaks[worker] = Streak()

    def _count(self, failures: Collection[Failure]) -> None:
        """Note failures.

        Raises:
            EnvironmentFailedError: one of them is one too many.
        """
        self.unreported += failures  # all, for the error tells of those that come after its own too
        for failure in failures:
            streak = self._streaks[failure.worker].grown(failure.summary)
            self._streaks[failure.worker] = streak
            if streak.count >= self._max_failures:
                raise self._given_up(failure, streak.count)

    def _given_up(self, failure: Failure, times: int) -> EnvironmentFailedError:
        """The error for a worker that failed too often; it tells of all that is unreported."""
        failures = tuple(self.unreported)
        self.unreported.clear()
        return given_up(failure, times, failures)

    def _check_spaces(self, answers: Mapping[int, Answer]) -> None:
        for worker, answer in answers.items():
            if isinstance(answer, bytes):
                for what, given in _spaces(answer)._asdict().items():
                    lane = self._pool.lanes[worker][0]
                    check_equal_space(what, 0, getattr(self._spaces, what), lane, given)


def failures_in(answers: Mapping[int, Answer]) -> dict[int, Failure]:
    """The workers that failed."""
    return {worker: answer for worker, answer in answers.items() if isinstance(answer, Failure)}


def raise_mistakes(answers: Mapping[int, Answer]) -> None:
    """Raise the first of the users' mistakes."""
    for answer in answers.values():
        if isinstance(answer, WoodshedError):
            raise answer


def _spaces(answer: Any) -> Spaces:
    spaces: Spaces = cloudpickle.loads(answer)
    return spaces
