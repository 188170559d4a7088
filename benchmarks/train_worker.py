"""The training run that both sides are asked for, and how its speed is taken.

Imported in every peer's environment: the standard library only.
"""

import argparse
from typing import NamedTuple

ENVIRONMENT = "FetchReach-v4"
BATCH_SIZE = 256
LEARNING_STARTS = 400
"""Environment steps before the first update: one whole episode of each of 8 environments."""
WARM_UP_STEPS = 100
"""Environment steps with updates before the clock starts: compiling, allocating, first calls."""


class TrainSettings(NamedTuple):
    """One training run: SAC, one update per environment step, hindsight `future` with k = 4."""

    hidden: tuple[int, ...]
    n_envs: int
    timed_steps: int
    hindsight: bool = True
    most_seconds: float = 30.0
    """The timed part ends sooner where it would take longer, on the side that can be stopped."""

    @property
    def name(self) -> str:
        """The measurement's name."""
        hidden = "x".join(str(width) for width in self.hidden)
        kind = "hindsight" if self.hindsight else "plain"
        return f"train {self.timed_steps} steps, {hidden}, {kind}"

    @property
    def clock_starts(self) -> int:
        """Environment steps over all environments before the timed ones."""
        return LEARNING_STARTS + WARM_UP_STEPS

    @property
    def total_steps(self) -> int:
        """Environment steps of the whole run."""
        return self.clock_starts + self.timed_steps

    def arguments(self) -> list[str]:
        """The settings as a worker's arguments."""
        return [
            *("--hidden", *(str(width) for width in self.hidden)),
            *("--n-envs", str(self.n_envs)),
            *("--timed-steps", str(self.timed_steps)),
            *("--most-seconds", str(self.most_seconds)),
            *([] if self.hindsight else ["--no-hindsight"]),
        ]


def parse_settings() -> TrainSettings:
    """Read a worker's arguments."""
    parser = argparse.ArgumentParser(description="Time one training run.")
    parser.add_argument("--hidden", type=int, nargs="+", required=True)
    parser.add_argument("--n-envs", type=int, required=True)
    parser.add_argument("--timed-steps", type=int, required=True)
    parser.add_argument("--most-seconds", type=float, default=30.0)
    parser.add_argument("--no-hindsight", action="store_true")
    arguments = parser.parse_args()
    return TrainSettings(
        hidden=tuple(arguments.hidden),
        n_envs=arguments.n_envs,
        timed_steps=arguments.timed_steps,
        hindsight=not arguments.no_hindsight,
        most_seconds=arguments.most_seconds,
    )
