"""The exceptions of Woodshed's own."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from woodshed.envs.workers.failure import Failure


class WoodshedError(ValueError):
    """A mistake in what the user gave: one line with what was wrong, what was expected, what to do.

    The command line prints the line and ends with exit code 2; anything else is a fault of ours
    and keeps its traceback.
    """


class EnvironmentFailedError(RuntimeError):
    """Environments in a worker process failed in a way that trying again does not mend.

    The message ends with the traceback of that process; the command line prints it and ends with
    exit code 1.

    Attributes:
        failures: those that no step has told of, in the order in which they were noted; what the
            message is about is one of them.
    """

    def __init__(self, message: str, failures: "tuple[Failure, ...]" = ()) -> None:
        """Say what failed.

        Args:
            message: what the error says
            failures: those that no step has told of
        """
        super().__init__(message)
        self.failures = failures
