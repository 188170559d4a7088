"""Reduce: a window's rewards to one number, and how much of what follows counts."""

from woodshed.replay.kernel import kernel
from woodshed.replay.store import TERMINATED, ending_at, wrap


@kernel
def reduce_window(  # type: ignore[no-untyped-def]
    stored_reward, episodes, lane, place, most, answers, first, numbers
):
    """Reduce the window of up to `most` steps from one row on.

    With rewards r_0 … r_{k-1} of its k steps, reward is the sum of gamma^i r_i, and discount
    gamma^k, or 0 where the last step terminated. A relabelled window stops at its first
    termination; any other can only terminate in its last step.

    Args:
        stored_reward: `[L, R, W]` the records, seen as float32.
        episodes: the episode index.
        lane: of the window.
        place: of its first row.
        most: steps that it has, at least one.
        answers: what hindsight says, see `Answers`.
        first: the window's first step there; -1 with its original goal.
        numbers: `Numbers`.

    Returns:
        Reward, discount, k.
    """
    rewards, terminations = answers
    total, factor, terminated, steps = 0.0, 1.0, False, 0
    while steps < most and not terminated:
        total += factor * (
            stored_reward[lane, place, numbers.reward] if first < 0 else rewards[first + steps]
        )
        if first < 0 or terminations.size == 0:
            terminated = ending_at(episodes, lane, place) & TERMINATED != 0
        else:
            terminated = terminations[first + steps]
        factor *= numbers.gamma
        steps += 1
        place = wrap(place + 1, stored_reward.shape[1])
    return total, 0.0 if terminated else factor, steps
