"""How far a run has come: numbers only, so that a checkpoint can hold them as JSON."""

from dataclasses import dataclass
from fractions import Fraction

from woodshed.training.updates import owed_updates


@dataclass
class Progress:
    """Counts of a run under way.

    What is due every so many steps is due when a multiple lies between the step up to which it has
    been seen to and the present one.
    """

    env_steps: int = 0
    """Transitions made, over all environments."""
    attempts: int = 0
    """Steps that were asked of all environments; those that a failing one did not make count too,
    so that the others act alike whether it fails or not."""
    updates: int = 0
    """Gradient updates made."""
    owed_since_step: int | None = None
    """Environment steps from which the present replay ratio counts; None: `learning_starts`."""
    owed_since_updates: int = 0
    """Updates that were due up to there."""
    failures: int = 0
    """Times that environments failed and were started anew."""
    reports_seen_to: int = 0
    """Environment steps up to which reports were written."""
    evaluations_seen_to: int = 0
    """Environment steps up to which evaluations were made."""
    reported_steps: int = 0
    """Environment steps at the last report."""
    reported_updates: int = 0
    """Updates at the last report."""
    reported_seconds: float = 0.0
    """Training seconds at the last report."""
    solved_at_step: int | None = None
    """Environment steps at the first evaluation with 95 % success."""
    solved_at_seconds: float | None = None
    """Training seconds then."""
    train_seconds: float = 0.0
    """Training seconds when a checkpoint is written."""

    def owed(self, ratio: Fraction, learning_starts: int) -> int:
        """Updates that are due now; see `owed_updates`.

        Args:
            ratio: updates per environment step.
            learning_starts: environment steps without updates.
        """
        since = learning_starts if self.owed_since_step is None else self.owed_since_step
        return owed_updates(self.env_steps, since, ratio, self.updates - self.owed_since_updates)


def passes(before: int, now: int, every: int) -> bool:
    """Whether a multiple of `every` lies in before < … <= now; 0 has none."""
    return every > 0 and now // every > before // every
