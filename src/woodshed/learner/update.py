"""Several updates in one compiled call."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp

from woodshed.algorithms import Algorithm, Transitions

if TYPE_CHECKING:  # the learner runs without the replay, and without compiling its kernels
    from woodshed.replay import Batch

State = TypeVar("State")

Encode: TypeAlias = Callable[[Any, Any], Any]
"""`encode(observation tree of [B, …], scale) -> [B, D]`, able to run inside `jax.jit`."""

Updated: TypeAlias = tuple[State, dict[str, jax.Array], jax.Array]
"""New state, metrics, temporal-difference errors."""

Update: TypeAlias = Callable[[State, Any, "Batch"], Updated[State]]


def make_update(algorithm: Algorithm[State], encode: Encode) -> Update[State]:
    """Compile an algorithm's update into a function that makes K of them.

    Args:
        algorithm: what learns
        encode: from observations to what the networks see; all rows of a call are encoded at once

    Returns:
        `update(state, scale, batches) -> (state, metrics, td_error)`, where

        - state is given away: its arrays are reused for the new one, and must not be used again.
        - scale is handed to `encode`.
        - batches is a replay `Batch` with a leading axis: `[K, B, …]`; update k learns from row k.
          Its arrays and the scale's may be read in place while the work goes on: do not write to
          them afterwards.
        - metrics are the means over the K updates, td_error is `[K, B]`.

        It compiles for each K and B that it meets, and returns before the work is done: waiting is
        left to whoever reads the results.
    """

    @partial(jax.jit, donate_argnums=0)
    def run(
        state: State,
        scale: Any,
        observation: Any,
        action: jax.Array,
        reward: jax.Array,
        discount: jax.Array,
        next_observation: Any,
        weight: jax.Array,
    ) -> Updated[State]:
        K, B = reward.shape

        def encode_all(tree: Any) -> jax.Array:
            rows = jax.tree.map(lambda leaf: leaf.reshape(K * B, *leaf.shape[2:]), tree)
            return jnp.asarray(encode(rows, scale)).reshape(K, B, -1)

        def one(state: State, batch: Transitions) -> tuple[State, Any]:
            state, metrics, td_error = algorithm.update(state, batch)
            return state, (metrics, td_error)

        batches = Transitions(
            observation=encode_all(observation),
            action=action.reshape(K, B, -1),
            reward=reward,
            discount=discount,
            next_observation=encode_all(next_observation),
            weight=weight,
        )
        state, (metrics, td_error) = jax.lax.scan(one, state, batches)
        return state, {name: values.mean() for name, values in metrics.items()}, td_error

    def update(state: State, scale: Any, batches: "Batch") -> Updated[State]:
        result: Updated[State] = run(
            state,
            scale,
            batches.observation,
            batches.action,
            batches.reward,
            batches.discount,
            batches.next_observation,
            batches.weight,
        )
        return result

    return update
