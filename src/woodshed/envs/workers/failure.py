"""What is said of an environment that failed."""

import re
from dataclasses import dataclass, replace

from woodshed.errors import EnvironmentFailedError


@dataclass(frozen=True)
class Failure:
    """One failure of a worker process."""

    worker: int
    """Number of the worker."""
    lanes: tuple[int, ...]
    """Its lanes: all of them lost their episode."""
    summary: str
    """One line: `RuntimeError: the motor is on fire`, `killed by SIGKILL`, `exit code 3`,
    `no answer within 60 s`."""
    report: str
    """The worker's traceback; where it could not give one, the summary and the end of its log."""

    @property
    def of_whom(self) -> str:
        """The worker and its environments, for messages: `worker 1 (environments 2, 3)`."""
        plural = "s" if len(self.lanes) > 1 else ""
        return f"worker {self.worker} (environment{plural} {', '.join(map(str, self.lanes))})"


@dataclass(frozen=True)
class Streak:
    """How often a worker failed in the same way without an episode that ended in between."""

    summary: str = ""
    count: int = 0

    def grown(self, summary: str) -> "Streak":
        """The streak after one more failure.

        Numbers and addresses do not count as another way to fail: they differ in each process.
        """
        alike = re.sub(r"0x[0-9a-fA-F]+|\d+", "#", summary)
        if alike == self.summary:
            return replace(self, count=self.count + 1)
        return Streak(alike, 1)


def given_up(failure: Failure, times: int, failures: tuple[Failure, ...]) -> EnvironmentFailedError:
    """The error for a worker that failed too often.

    Args:
        failure: its last
        times: how often it failed
        failures: all that no step has told of, that one included
    """
    often = f"{times} times in a row" if times > 1 else "once"
    said = failure.report
    if not said.startswith(failure.summary):
        said = f"{failure.summary}\n{said}"
    message = f"{failure.of_whom} failed {often}: {said}"
    return EnvironmentFailedError(message, failures)
