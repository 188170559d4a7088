"""Several updates in one compiled call."""

from functools import partial
from typing import Any

import jax

from woodshed.algorithms import Transitions


def make_update(algorithm: Any, encode: Any) -> Any:
    """X"""

    @partial(jax.jit, donate_argnums=0)
    def run(
        state: Any, scale: Any, observation, action, reward, discount, next_observation, weight
    ) -> Any:
        K, B = reward.shape

        def rows(tree):
            flat = jax.tree.map(lambda leaf: leaf.reshape(K * B, *leaf.shape[2:]), tree)
            return encode(flat, scale).reshape(K, B, -1)

        transitions = Transitions(
            rows(observation),
            action.reshape(K, B, -1),
            reward,
            discount,
            rows(next_observation),
            weight,
        )

        def body(state, batch):
            state, metrics, td_error = algorithm.update(state, batch)
            return state, (metrics, td_error)

        state, (metrics, td_error) = jax.lax.scan(body, state, transitions)
        return state, jax.tree.map(lambda x: x.mean(), metrics), td_error

    def update(state, scale, batches):
        return run(
            state,
            scale,
            batches.observation,
            batches.action,
            batches.reward,
            batches.discount,
            batches.next_observation,
            batches.weight,
        )

    update.run = run
    return update
