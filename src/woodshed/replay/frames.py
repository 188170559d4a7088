"""Frame stacks: single frames are stored, the last k of them are put together when sampled."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from woodshed.errors import WoodshedError
from woodshed.replay.tree import Leaf

Padding: TypeAlias = Literal["repeat", "zero"]

_GOALS = ("achieved_goal", "desired_goal")


@dataclass(frozen=True)
class FrameStack:
    """Give each observation the frames before it: `[B, k, …]` with the newest last.

    Frames never reach back over the episode's start. A row whose earlier frames are overwritten is
    not sampled.

    Raises:
        WoodshedError: for a number or padding that there is not.
    """

    k: int
    """Frames of a stack, the observation's own included; at least 1."""
    padding: Padding = "repeat"
    """What stands before an episode's first frame: that one again (`repeat`) or zeros (`zero`)."""
    keys: tuple[str, ...] | None = None
    """Which parts of a Dict observation are stacked, a nested one as `camera/left`. None: all but
    `achieved_goal` and `desired_goal`."""

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise WoodshedError(f"a frame stack's k is {self.k!r}, expected a whole number from 1")
        if self.padding not in ("repeat", "zero"):
            raise WoodshedError(f"padding is {self.padding!r}, expected 'repeat' or 'zero'")


class Stacking(NamedTuple):
    """A frame stack as the kernels and the layout want it."""

    k: int
    zero: bool
    """Whether zeros stand before the first frame."""
    stacked: frozenset[tuple[str, ...]]
    """Paths of the leaves that are stacked."""


def check_frames(frames: FrameStack | None, leaves: list[Leaf]) -> Stacking:
    """Find the leaves that are stacked.

    Raises:
        WoodshedError: for a key that the observation does not have, or one of a goal.
    """
    if frames is None:
        return Stacking(1, False, frozenset())
    by_key = {"/".join(leaf.path[1:]): leaf.path for leaf in leaves}
    keys = frames.keys
    if keys is None:
        keys = tuple(key for key in by_key if key not in _GOALS)
    for key in keys:
        if key in _GOALS:
            raise WoodshedError(f"{key} cannot be stacked: a goal is one observation's")
        if key not in by_key:
            raise WoodshedError(
                f"frames of {key!r} are to be stacked; the observation has {sorted(by_key)}"
            )
    if not keys:
        raise WoodshedError("a frame stack without keys stacks nothing: leave it out")
    stacked = frozenset(by_key[key] for key in keys)
    return Stacking(frames.k, frames.padding == "zero", stacked)
