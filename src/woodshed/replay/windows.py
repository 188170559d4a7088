"""Window: how many steps each start row is followed, never out of its episode."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel
from woodshed.replay.store import TERMINATED, ending_at, rows_left, wrap
from woodshed.replay.stream import below


class Windows(NamedTuple):
    """The windows of a batch: transitions `row … row + steps - 1` of one lane each.

    All `[B]` int64.

    Attributes:
        lane: of the window.
        row: number of the start row.
        place: where that lies in its lane's ring.
        steps: number of transitions.
        goal_lane: where the new goal comes from.
        goal_place: of the row whose achieved goal is the new goal; -1 to keep the original one.
        ends: 1 where its last transition terminated the episode, as stored; else 0.
        first_asked: the window's first step among those that hindsight is asked about; -1 with its
            original goal.
    """

    lane: NDArray[np.int64]
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    steps: NDArray[np.int64]
    goal_lane: NDArray[np.int64]
    goal_place: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_asked: NDArray[np.int64]


Plan = NDArray[np.int64]  # [8, B], what the windows are views of


def empty_plan(batch: int) -> Plan:
    """A plan to be filled by the kernels."""
    return np.empty((len(Windows._fields), batch), np.int64)


@kernel
def windows_of(plan):  # type: ignore[no-untyped-def]
    """See a plan as windows, inside of a kernel: to hand over eight arrays takes 3 µs more."""
    return Windows(plan[0], plan[1], plan[2], plan[3], plan[4], plan[5], plan[6], plan[7])


@kernel
def draw_length(stream, low, high):  # type: ignore[no-untyped-def]
    """n, uniform in the closed range low … high; a range of one number draws nothing."""
    return low if low == high else low + below(stream, high - low + 1)


@kernel
def measure(episodes, stream, windows, low, high):  # type: ignore[no-untyped-def]
    """Fill `steps`: n, uniform in low … high, but never past the episode's end; and `ends`."""
    for b in range(windows.row.size):
        lane, place = windows.lane[b], windows.place[b]
        steps = min(draw_length(stream, low, high), rows_left(episodes, lane, place))
        windows.steps[b] = steps
        windows.ends[b] = terminates(episodes, lane, place, steps)


@kernel
def terminates(episodes, lane, place, steps):  # type: ignore[no-untyped-def]
    """Whether the last of some steps from a row on terminated the episode; none before it can."""
    last = wrap(place + steps - 1, episodes.marks.shape[1])
    return ending_at(episodes, lane, last) & TERMINATED != 0
