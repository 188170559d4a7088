"""The one exception for what a user can mend."""


class WoodshedError(ValueError):
    """A mistake in what the user gave: one line with what was wrong, what was expected, what to do.

    The command line prints the line and ends with exit code 2; anything else is a fault of ours
    and keeps its traceback.
    """
