"""Command lines from dataclasses; a mistake becomes one line."""

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import tyro

from woodshed.errors import WoodshedError

T = TypeVar("T")


def parse(kind: type[T], args: Sequence[str], *, command: str, default: Any = None) -> T:
    """Fill a dataclass from arguments; `--help` prints it and exits.

    Args:
        kind: the dataclass; docstrings of its fields are their help.
        args: what stands behind the command.
        command: its name.
        default: an instance whose values are the defaults.

    Raises:
        WoodshedError: for what does not parse.
    """
    options: dict[str, Any] = {} if default is None else {"default": default}
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            parsed: T = tyro.cli(
                kind,
                args=list(args),
                prog=f"woodshed {command}",
                config=(tyro.conf.OmitArgPrefixes,),
                **options,
            )
            return parsed
    except SystemExit as leaving:
        if leaving.code in (0, None):
            raise
        raise WoodshedError(
            f"{_first_words(errors.getvalue())}; see woodshed {command} --help"
        ) from None


def _first_words(box: str) -> str:
    """What a box of tyro's says before its first rule, in one line."""
    lines = [line.strip(" │") for line in box.splitlines() if not line.startswith("╭")]
    words: list[str] = []
    for line in lines:
        if line.startswith(("─", "╰")):
            break
        words.append(line)
    return re.sub(r"\s+", " ", " ".join(words)).strip()
