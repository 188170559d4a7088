"""Hindsight: what the user asks for."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError

Strategy: TypeAlias = Literal["future", "final", "episode", "random"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)

GoalFunction: TypeAlias = Callable[[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]], Any]
"""`f(achieved_goal [M, …], desired_goal [M, …], info of arrays [M, …]) -> [M]`."""


@dataclass(frozen=True)
class Hindsight:
    """Replace goals by goals that were achieved (Andrychowicz et al. 2017).

    Raises:
        WoodshedError: for an unknown strategy or a negative k.
    """

    strategy: Strategy = "future"
    """Where a new goal is achieved: later in the episode (`future`), at its end (`final`), anywhere
    in it (`episode`), or after any stored transition (`random`)."""
    k: float = 4.0
    """Relabelled windows for each original one: a window is relabelled with probability k/(k+1)."""
    _: KW_ONLY
    compute_reward: GoalFunction
    """Reward of a step, from the goal achieved *after* it: `[M]` floats for a batch."""
    compute_terminated: GoalFunction | None = None
    """Whether a step terminates, likewise `[M]` bools. None: the stored termination stands."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise WoodshedError(
                f"hindsight strategy {self.strategy!r} is unknown; choose one of {STRATEGIES}"
            )
        if not (np.isfinite(self.k) and self.k >= 0):
            raise WoodshedError(f"hindsight k is {self.k}, expected a number of at least 0")

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each strategy; what is missing to 1 keeps the original goal."""
        return {self.strategy: self.k / (self.k + 1)}
