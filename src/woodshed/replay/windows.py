"""Window: how many steps each start row is followed, never out of its episode."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel
from woodshed.replay.store import rows_left
from woodshed.replay.stream import below


class Windows(NamedTuple):
    """The windows of a batch: transitions `row … row + steps - 1` of one lane each.

    Attributes:
        lane: `[B]` int64.
        row: `[B]` int64, number of the start row.
        steps: `[B]` int32, number of transitions.
        goal_lane: `[B]` int64, where the new goal comes from.
        goal_row: `[B]` int64, number of the row whose achieved goal is the new goal; -1 to keep the
            original one.
    """

    lane: NDArray[np.int64]
    row: NDArray[np.int64]
    steps: NDArray[np.int32]
    goal_lane: NDArray[np.int64]
    goal_row: NDArray[np.int64]


def empty_windows(batch: int) -> Windows:
    """Windows to be filled by the kernels."""
    lane, row, goal_lane, goal_row = np.empty((4, batch), np.int64)
    return Windows(lane, row, np.empty(batch, np.int32), goal_lane, goal_row)


@kernel
def draw_length(stream, low, high):  # type: ignore[no-untyped-def]
    """n, uniform in the closed range low … high; a range of one number draws nothing."""
    return low if low == high else low + below(stream, high - low + 1)


@kernel
def measure(episodes, stream, windows, low, high):  # type: ignore[no-untyped-def]
    """Fill `steps`: n, uniform in the closed range low … high, but never past the episode's end."""
    for b in range(windows.row.size):
        n = draw_length(stream, low, high)
        windows.steps[b] = min(n, rows_left(episodes, windows.lane[b], windows.row[b]))
