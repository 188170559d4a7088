"""`woodshed COMMAND …`."""

import os
import sys
from collections.abc import Callable, Sequence

from woodshed import __version__
from woodshed.errors import EnvironmentFailedError, WoodshedError

Command = Callable[[Sequence[str]], int]

BROKEN_PIPE = 141
"""What shells call the exit of a program that SIGPIPE ended."""


def _train(args: Sequence[str]) -> int:
    from woodshed.cli.train import main

    return main(args)


def _resume(args: Sequence[str]) -> int:
    from woodshed.cli.resume import main

    return main(args)


def _evaluate(args: Sequence[str]) -> int:
    from woodshed.cli.evaluate import main

    return main(args)


def _plot(args: Sequence[str]) -> int:
    from woodshed.cli.plot import main

    return main(args)


def _presets(args: Sequence[str]) -> int:
    from woodshed.cli.presets import main

    return main(args)


# Each command imports what it needs when it is called: `--help` must not wait for jax.
COMMANDS: dict[str, tuple[Command, str]] = {
    "train": (_train, "train a policy: woodshed train ENV [settings]"),
    "resume": (_resume, "go on with a run that was stopped: woodshed resume DIR [settings]"),
    "evaluate": (_evaluate, "evaluate a trained policy: woodshed evaluate DIR"),
    "plot": (_plot, "draw learning curves: woodshed plot DIR [DIR …]"),
    "presets": (_presets, "list tuned settings, or show one: woodshed presets [ENV]"),
}


def usage() -> str:
    """What `woodshed --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {help_line}" for name, (_, help_line) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: woodshed COMMAND …",
            "",
            *lines,
            "",
            "woodshed COMMAND --help shows every setting; woodshed --version the version",
        ]
    )


def main(args: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        Exit code: 0, 2 for a user's mistake, 130 after Ctrl-C, 141 where nobody reads the output.
    """
    try:
        try:
            return _run(list(sys.argv[1:] if args is None else args))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as in `woodshed presets | head -1`
        # What Python still holds would raise again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _run(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return 0 if args else 2
    if args[0] == "--version":
        print(f"woodshed {__version__}")
        return 0
    try:
        if args[0] not in COMMANDS:
            raise WoodshedError(
                f"unknown command {args[0]!r}; expected one of {', '.join(COMMANDS)}"
            )
        return COMMANDS[args[0]][0](args[1:])
    except WoodshedError as error:
        print(f"woodshed: {error}", file=sys.stderr)
        return 2
    except EnvironmentFailedError as error:
        # With the traceback of the environment's process: its own, and not of this one.
        print(f"woodshed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("woodshed: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
