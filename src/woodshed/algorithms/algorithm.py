"""What the learner asks of an algorithm."""

from typing import Any, Protocol, TypeVar

import jax

from woodshed.algorithms.transitions import Transitions

State = TypeVar("State")


class Algorithm(Protocol[State]):
    """Frozen, hashable settings with pure functions. State is one tree of arrays."""

    @property
    def name(self) -> str:
        """What presets and the command line call it."""
        ...

    def init(self, key: jax.Array, observation_size: int, action_size: int) -> State:
        """The first state. It has a field `actor`: what `act` takes."""
        ...

    def act(self, actor: Any, observation: jax.Array, key: jax.Array, explore: bool) -> jax.Array:
        """Actions `[B, A]` in [-1, 1] for encoded observations `[B, D]`."""
        ...

    def update(
        self, state: State, batch: Transitions
    ) -> tuple[State, dict[str, jax.Array], jax.Array]:
        """One update: new state, scalars to report, temporal-difference errors `[B]`."""
        ...
