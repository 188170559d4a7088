"""Hindsight: what the user asks for."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, get_args

from numpy.typing import NDArray

from woodshed.errors import WoodshedError

Strategy: TypeAlias = Literal["future", "geometric", "final", "episode", "random"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)
ORIGINAL = "original"

GoalFunction: TypeAlias = Callable[[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]], Any]
"""`f(achieved_goal [M, …], desired_goal [M, …], info of arrays [M, …]) -> [M]`.

The arrays are the function's until it returns; it must copy what it keeps."""


@dataclass(frozen=True)
class Hindsight:
    """Replace goals by goals that were achieved (Andrychowicz et al. 2017).

    Raises:
        WoodshedError: for an unknown strategy, or numbers that are no probabilities.
    """

    strategy: Strategy | Mapping[str, float] = "future"
    """Where a new goal was achieved: later in the episode, uniformly (`future`) or the sooner the
    likelier (`geometric`), at its end (`final`), anywhere in it (`episode`), or after any stored
    transition (`random`). Or several of them with their probabilities, which sum to 1, `original`
    for the goal that was pursued: `{"original": 0.2, "geometric": 0.5, "random": 0.3}`."""
    k: float | None = None
    """With one strategy: relabelled windows for each original one, so that a window is relabelled
    with probability k/(k+1). None: 4."""
    _: KW_ONLY
    compute_reward: GoalFunction
    """Reward of a step, from the goal achieved *after* it: `[M]` floats for a batch."""
    compute_terminated: GoalFunction | None = None
    """Whether a step terminates, likewise `[M]` bools. None: the stored termination stands."""
    geometric_discount: float = 0.99
    """`geometric` takes the goal i steps later with probability proportional to this to the i, over
    what the episode has left (Eysenbach et al. 2022)."""

    def __post_init__(self) -> None:
        names = [self.strategy] if isinstance(self.strategy, str) else list(self.strategy)
        known = STRATEGIES if isinstance(self.strategy, str) else (ORIGINAL, *STRATEGIES)
        for name in names:
            if name not in known:
                raise WoodshedError(f"hindsight strategy {name!r} is unknown; there is {known}")
        if self.k is not None and not isinstance(self.strategy, str):
            raise WoodshedError("hindsight takes k or a mixture of strategies, not both")
        if self.k is not None and not (math.isfinite(self.k) and self.k >= 0):
            raise WoodshedError(f"hindsight k is {self.k}, expected a number of at least 0")
        shares = self.probabilities.values()
        if not all(share >= 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
            raise WoodshedError(
                f"hindsight probabilities are {self.strategy}, expected numbers that sum to 1; the "
                f"share that keeps its goal is {ORIGINAL!r}"
            )
        if not 0 < self.geometric_discount < 1:
            raise WoodshedError(
                f"geometric_discount is {self.geometric_discount}, expected between 0 and 1"
            )

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each goal source that was named, and of the original goal."""
        if isinstance(self.strategy, str):
            k = 4.0 if self.k is None else self.k
            return {ORIGINAL: 1 / (k + 1), self.strategy: k / (k + 1)}
        return dict(self.strategy)
