"""What a stacked observation is: the frames of its episode up to a row, newest last."""

from typing import Any, NamedTuple

import numpy as np


class Frames(NamedTuple):
    """How many observations are stacked, and what stands before an episode's first one."""

    k: int
    zero: bool = False
    """Zeros; otherwise the first frame again."""


UNSTACKED = ("achieved_goal", "desired_goal")


def first_whole(frames: Frames | None, first: int, oldest: int) -> int:
    """The first row of an episode all of whose frames are stored.

    Args:
        frames: the stack, None for single observations.
        first: number of the episode's first row.
        oldest: number of its oldest row that is still stored.
    """
    if frames is None:
        return oldest
    number = oldest
    while any(first <= frame < oldest for frame in frame_numbers(frames, number)):
        number += 1
    return number


def frame_numbers(frames: Frames, number: int) -> range:
    """The numbers of a row's frames; those before its episode's first row do not exist."""
    return range(number - frames.k + 1, number + 1)


def stack_frames(observations: list[Any], frames: Frames) -> Any:
    """The stack of the last of an episode's observations up to it.

    Args:
        observations: some rows of an episode one after the other; if there are fewer than k, the
            first one is the episode's first.
        frames: the stack.
    """
    last = observations[-1]
    if isinstance(last, dict):
        stacked = {key: stack_frames([o[key] for o in observations], frames) for key in last}
        return stacked | {key: last[key] for key in UNSTACKED if key in last}
    shown = observations[-frames.k :]
    before = np.zeros_like(shown[0]) if frames.zero else shown[0]
    return np.stack([before] * (frames.k - len(shown)) + shown)
