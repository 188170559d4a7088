"""What came of episodes: sums that are kept while they are under way."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.envs import VectorStep


class Episode(NamedTuple):
    """What came of one finished episode."""

    return_sum: float
    """Sum of its rewards, undiscounted."""
    length: int
    """Its steps."""
    success: float
    """1 or 0 as the environment said in its last step; nan where it says nothing."""


class EpisodeTracker:
    """Sums rewards and counts steps of the episodes that are under way.

    Attributes:
        return_sum: `[L]` float64, of the steps so far.
        length: `[L]` int64.
    """

    def __init__(self, lanes: int) -> None:
        """Begin an episode in every lane."""
        self.return_sum: NDArray[np.float64] = np.zeros(lanes)
        self.length: NDArray[np.int64] = np.zeros(lanes, np.int64)

    def follow(self, step: VectorStep) -> dict[int, Episode]:
        """Take one step in; the episodes that it ended, by lane. One that was cut is none."""
        self.return_sum += np.where(step.stepped, step.reward, 0.0)
        self.length += step.stepped
        ended = step.stepped & (step.terminated | step.truncated)
        finished = {
            lane: Episode(
                float(self.return_sum[lane]), int(self.length[lane]), float(step.success[lane])
            )
            for lane in np.flatnonzero(ended).tolist()
        }
        self.forget(ended | step.cut)
        return finished

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """Begin anew in some lanes `[L]`."""
        self.return_sum[mask] = 0.0
        self.length[mask] = 0
