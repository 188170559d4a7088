"""Reduce: a window's rewards to one number, and how much of what follows counts."""

import numpy as np

from woodshed.replay.kernel import kernel
from woodshed.replay.store import TERMINATED


@kernel
def reduce_windows(words, episodes, windows, relabelled, reward_word, gamma, reward, discount):  # type: ignore[no-untyped-def]
    """Reduce every window, and shorten those that a relabelled termination ends.

    Args:
        words: `[L, R, W]`, the records.
        episodes: the episode index.
        windows: the batch's windows; `steps` is changed.
        relabelled: what hindsight says of their steps.
        reward_word: the word of a record that is the stored reward.
        gamma: discount factor of one step.
        reward: `[B]` float32, filled.
        discount: `[B]` float32, filled.
    """
    stored_reward = words.view(np.float32)
    for b in range(windows.row.size):
        reward[b], discount[b], windows.steps[b] = reduce_one(
            stored_reward,
            episodes,
            windows.lane[b],
            windows.row[b],
            windows.steps[b],
            relabelled,
            relabelled.first[b],
            reward_word,
            gamma,
        )


@kernel
def reduce_one(  # type: ignore[no-untyped-def]
    stored_reward, episodes, lane, row, most, relabelled, first, reward_word, gamma
):
    """Reduce the window of up to `most` steps from one row on.

    With rewards r_0 … r_{k-1} of its k steps, reward is the sum of gamma^i r_i, and discount
    gamma^k, or 0 where the last step terminated. A relabelled window stops at its first
    termination; any other can only terminate in its last step.

    Args:
        stored_reward: `[L, R, W]` float32 view of the records.
        episodes: the episode index.
        lane: of the window.
        row: number of its first row.
        most: steps that it has, at least one.
        relabelled: what hindsight says.
        first: the window's first step there; -1 with its original goal.
        reward_word: the word of a record that is the stored reward.
        gamma: discount factor of one step.

    Returns:
        Reward, discount, k.
    """
    total, factor, terminated, steps = 0.0, 1.0, False, 0
    while steps < most and not terminated:
        place = (row + steps) % stored_reward.shape[1]
        if first < 0:
            total += factor * stored_reward[lane, place, reward_word]
            terminated = episodes.ending[lane, place] & TERMINATED != 0
        else:
            total += factor * relabelled.reward[first + steps]
            terminated = relabelled.terminated[first + steps]
        factor *= gamma
        steps += 1
    return total, 0.0 if terminated else factor, steps
