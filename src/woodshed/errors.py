"""The exceptions of Woodshed's own."""


class WoodshedError(ValueError):
    """A mistake in what the user gave: one line with what was wrong, what was expected, what to do.

    The command line prints the line and ends with exit code 2; anything else is a fault of ours
    and keeps its traceback.
    """


class EnvironmentFailedError(RuntimeError):
    """Environments in a worker process failed in a way that trying again does not mend.

    The message ends with the traceback of that process; the command line prints it and ends with
    exit code 1.
    """
