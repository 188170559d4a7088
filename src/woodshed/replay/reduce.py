"""Reduce: a window's rewards to one number, and how much of what follows counts."""

from woodshed.replay.kernel import kernel
from woodshed.replay.store import wrap


@kernel
def reduce_window(stored_reward, lane, place, most, ends, answers, first, numbers):  # type: ignore[no-untyped-def]
    """Reduce the window of up to `most` steps from one row on.

    With rewards r_0 … r_{k-1} of its k steps, reward is the sum of gamma^i r_i, and discount
    gamma^k, or 0 where the last step terminated. A relabelled window stops at its first
    termination; any other can only terminate in its last step.

    Args:
        stored_reward: `[L, R, W]` the records, seen as float32.
        lane: of the window.
        place: of its first row.
        most: steps that it has, at least one.
        ends: whether the last of them terminated the episode, as stored.
        answers: what hindsight says, see `Answers`.
        first: the window's first step there; -1 with its original goal.
        numbers: `Numbers`.

    Returns:
        Reward, discount, k.
    """
    rewards, terminations = answers
    total, factor, steps = 0.0, 1.0, 0
    terminated = False
    if first < 0:
        for i in range(most):
            at = wrap(place + i, stored_reward.shape[1])
            total += factor * stored_reward[lane, at, numbers.reward]
            factor *= numbers.gamma
        return total, 0.0 if ends else factor, most
    while steps < most and not terminated:
        total += factor * rewards[first + steps]
        if terminations.size:
            terminated = terminations[first + steps]
        factor *= numbers.gamma
        steps += 1
    if terminations.size == 0:
        terminated = ends
    return total, 0.0 if terminated else factor, steps
