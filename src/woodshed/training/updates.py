"""The replay ratio, kept exactly."""

from fractions import Fraction


def owed_updates(
    env_steps: int, learning_starts: int, updates_per_step: float, updates: int
) -> int:
    """Updates that are due now.

    After s environment steps beyond `learning_starts`, floor(s x updates_per_step) updates are to
    have been made, whatever the number of environments; fractions are carried on, never lost. The
    ratio is taken as the decimal number that was written: 0.1 is one tenth.

    Args:
        env_steps: environment steps taken, over all environments.
        learning_starts: environment steps without updates.
        updates_per_step: the replay ratio.
        updates: updates made so far.
    """
    learning_steps = max(0, env_steps - learning_starts)
    return int(learning_steps * Fraction(str(updates_per_step))) - updates
