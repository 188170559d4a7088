"""Acting in one compiled call."""

from functools import partial
from typing import Any, Protocol

import jax

from woodshed.algorithms import Algorithm
from woodshed.learner.update import Encode


class Act(Protocol):
    """From observations to actions."""

    def __call__(
        self,
        actor: Any,
        scale: Any,
        observation: Any,
        key: jax.Array,
        draw: int = 0,
        *,
        explore: bool,
    ) -> jax.Array:
        """Actions `[L, A]` in [-1, 1].

        Args:
            actor: the field of that name in the algorithm's state
            scale: handed to the encoder
            observation: tree of `[L, …]`
            key: of exploration
            draw: which draw from the key. To count here takes no time; a new key for each call
                would take longer than acting
            explore: whether to explore, or to act as well as the policy can
        """
        ...


def make_act(algorithm: Algorithm[Any], encode: Encode) -> Act:
    """Compile an algorithm's `act`.

    Args:
        algorithm: whose actor acts
        encode: from observations to what the networks see

    Returns:
        A function that compiles for each number of observations, and for exploring or not.
    """

    @partial(jax.jit, static_argnames="explore")
    def act(
        actor: Any,
        scale: Any,
        observation: Any,
        key: jax.Array,
        draw: int = 0,
        *,
        explore: bool,
    ) -> jax.Array:
        encoded = encode(observation, scale)
        return algorithm.act(actor, encoded, jax.random.fold_in(key, draw), explore)

    return act
