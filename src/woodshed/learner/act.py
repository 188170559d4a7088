"""Acting, compiled."""

from functools import partial

import jax


def make_act(algorithm, encode):
    """X"""

    @partial(jax.jit, static_argnames="explore")
    def act(actor, scale, observation, key, draw=0, *, explore):
        return algorithm.act(
            actor, encode(observation, scale), jax.random.fold_in(key, draw), explore
        )

    return act
