"""What a training run is told."""

import math
from dataclasses import dataclass, fields
from typing import Generic, Literal, TypeAlias, TypeVar

from woodshed.algorithms import SAC
from woodshed.errors import WoodshedError

A = TypeVar("A", bound=SAC)

HindsightChoice: TypeAlias = Literal["auto", "none", "future", "final", "episode", "random"]


@dataclass(frozen=True)
class Settings(Generic[A]):
    """Settings of a training run; the command line, presets and `settings.json` hold the same.

    Raises:
        WoodshedError: for a number out of range; the message names the field.
    """

    algorithm: A
    """Settings of the algorithm."""
    seed: int = 0
    """Seed of everything random in the run."""
    steps: int = 100_000
    """Environment steps to train for, over all environments; the last vector step is made whole."""
    n_envs: int = 4
    """Number of environments that are stepped together."""
    workers: int = 0
    """Processes that the environments are spread over; 0 steps them in this one."""
    step_timeout: float = 60.0
    """Seconds that a worker process may take for a step before it is started anew; 0: as many as
    it likes."""
    max_failures: int = 5
    """Same failures of one worker, with no episode of it ending in between, that end the run."""
    learning_starts: int = 1_000
    """Environment steps with uniformly random actions before the first update."""
    updates_per_step: float = 1.0
    """Replay ratio: gradient updates for each environment step, counted over all environments."""
    batch_size: int = 256
    """Transitions in each update's batch."""
    gamma: float = 0.99
    """Discount factor of one environment step."""
    n_step: tuple[int, ...] = (1,)
    """Steps of a return: one number, or the two ends of a closed range drawn from for each."""
    capacity: int = 1_000_000
    """Transitions that the replay keeps, over all environments."""
    hindsight: HindsightChoice = "auto"
    """Where hindsight takes new goals from; auto is future where the environment has goals."""
    hindsight_k: float = 4.0
    """Relabelled samples for each one with its original goal."""
    policy_keys: tuple[str, ...] = ()
    """Observation keys that the networks see; none given: observation and desired_goal where there
    are goals, else all."""
    info_keys: tuple[str, ...] = ()
    """Info keys to store, for reward functions that need them."""
    normalise_observations: bool = True
    """Whether observations are shifted and scaled by running statistics; goals share theirs."""
    observation_clip: float = 5.0
    """Normalised observations are clipped to this many standard deviations."""
    evaluate_every: int = 1_000
    """Environment steps between evaluations; 0 evaluates only at the end."""
    evaluate_episodes: int = 20
    """Episodes of each evaluation during training."""
    final_episodes: int = 50
    """Episodes of the final evaluation, of the best policy; they are none of those before."""
    log_every: int = 1_000
    """Environment steps between lines of metrics."""
    checkpoint_every: int = 10_000
    """Environment steps between checkpoints; 0 writes one at the end only."""
    keep_checkpoints: int = 2
    """Newest checkpoints that are kept; 0 writes none at all, and the run cannot be resumed."""

    def __post_init__(self) -> None:
        least = {
            "seed": 0,
            "steps": 1,
            "n_envs": 1,
            "learning_starts": 1,
            "batch_size": 1,
            "capacity": 1,
            "evaluate_every": 0,
            "evaluate_episodes": 1,
            "final_episodes": 1,
            "log_every": 1,
            "workers": 0,
            "max_failures": 1,
            "checkpoint_every": 0,
            "keep_checkpoints": 0,
        }
        for name, low in least.items():
            if getattr(self, name) < low:
                raise WoodshedError(f"{name} is {getattr(self, name)}, expected at least {low}")
        if not (math.isfinite(self.updates_per_step) and self.updates_per_step >= 0):
            raise WoodshedError(
                f"updates_per_step is {self.updates_per_step}, expected a number of at least 0"
            )
        if not self.observation_clip > 0:
            raise WoodshedError(
                f"observation_clip is {self.observation_clip}, expected a number above 0"
            )
        if not self.normalise_observations and self.is_given("observation_clip"):
            raise WoodshedError(
                "observation_clip does nothing where normalise_observations is false: leave it out"
            )
        if self.updates_per_step > 0 and self.steps <= self.learning_starts:
            raise WoodshedError(
                f"steps is {self.steps:,} and learning_starts {self.learning_starts:,}: nothing "
                "would be learnt; expected more steps"
            )
        self._check_workers()
        if self.keep_checkpoints == 0 and self.is_given("checkpoint_every"):
            raise WoodshedError(
                "checkpoint_every does nothing where keep_checkpoints is 0: leave it out, or at "
                f"{self.default_of('checkpoint_every')}"
            )
        if not isinstance(self.n_step, tuple) or len(self.n_step) not in (1, 2):
            raise WoodshedError(f"n_step is {self.n_step}, expected a tuple of one or two")

    def _check_workers(self) -> None:
        if self.workers > self.n_envs:
            raise WoodshedError(
                f"workers is {self.workers}, expected at most one for each of {self.n_envs} "
                "environments (n_envs)"
            )
        if not (math.isfinite(self.step_timeout) and self.step_timeout >= 0):
            raise WoodshedError(
                f"step_timeout is {self.step_timeout}, expected seconds, or 0 to wait for ever"
            )
        for name in ("step_timeout", "max_failures"):
            if self.workers == 0 and self.is_given(name):
                raise WoodshedError(
                    f"{name} does nothing without workers: leave it out, or at "
                    f"{self.default_of(name)}"
                )

    def is_given(self, name: str) -> bool:
        """Whether a setting differs from its default."""
        return bool(getattr(self, name) != self.default_of(name))

    def default_of(self, name: str) -> object:
        """The default of a setting."""
        (default,) = (field.default for field in fields(self) if field.name == name)
        return default
