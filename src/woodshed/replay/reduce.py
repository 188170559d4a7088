"""Reduce: a window's rewards to one number, and how much of what follows counts."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from woodshed.replay.relabel import Relabelled
from woodshed.replay.store import TERMINATED, EpisodeIndex
from woodshed.replay.windows import Windows


def reduce_windows(
    words: NDArray[np.float32],
    episodes: EpisodeIndex,
    windows: Windows,
    relabelled: Relabelled,
    reward_word: int,
    gamma: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Reduce every window, and shorten those that a relabelled termination ends.

    With rewards r_0 … r_{k-1} of a window of k steps, its reward is the sum of gamma^i r_i, and its
    discount gamma^k, or 0 where the last step terminated. A relabelled window stops at its first
    termination; any other can only terminate in its last step.

    Args:
        words: `[L, R, W]` float32 view of the records.
        episodes: the episode index.
        windows: the batch's windows; `steps` is changed.
        relabelled: what hindsight says of their steps.
        reward_word: the word of a record that is the stored reward.
        gamma: discount factor of one step.

    Returns:
        Reward and discount, `[B]` float32 each.
    """
    reward, discount = np.empty((2, windows.row.size), np.float32)
    _reduce(words, episodes, windows, relabelled, reward_word, gamma, reward, discount)
    return reward, discount


@njit(nogil=True, cache=True)
def _reduce(words, episodes, windows, relabelled, reward_word, gamma, reward, discount):  # type: ignore[no-untyped-def]
    rows = words.shape[1]
    for b in range(windows.row.size):
        lane, row, first = windows.lane[b], windows.row[b], relabelled.first[b]
        total, factor, terminated, steps = 0.0, 1.0, False, 0
        while steps < windows.steps[b] and not terminated:
            place = (row + steps) % rows
            if first < 0:
                step_reward = np.float64(words[lane, place, reward_word])
                terminated = episodes.ending[lane, place] & TERMINATED != 0
            else:
                step_reward = relabelled.reward[first + steps]
                terminated = relabelled.terminated[first + steps]
            total += factor * step_reward
            factor *= gamma
            steps += 1
        windows.steps[b] = steps
        reward[b] = total
        discount[b] = 0.0 if terminated else factor
