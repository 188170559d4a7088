"""The replay ratio, kept exactly."""

from fractions import Fraction


def exact_ratio(updates_per_step: float) -> Fraction:
    """The replay ratio as the decimal number that was written: 0.1 is one tenth."""
    return Fraction(str(updates_per_step))


def owed_updates(env_steps: int, learning_starts: int, ratio: Fraction, updates: int) -> int:
    """Updates that are due now.

    After s environment steps beyond `learning_starts`, floor(s x ratio) updates are to have been
    made, whatever the number of environments; fractions are carried on, never lost.

    Args:
        env_steps: environment steps taken, over all environments.
        learning_starts: environment steps without updates.
        ratio: updates per environment step.
        updates: updates made so far.
    """
    learning_steps = max(0, env_steps - learning_starts)
    return learning_steps * ratio.numerator // ratio.denominator - updates
