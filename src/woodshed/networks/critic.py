"""An ensemble of action-value functions."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from woodshed.networks.mlp import MLP, init_mlp


class CriticEnsemble(eqx.Module):
    """E independent networks Q(s, a)."""

    network: MLP

    def __call__(self, observation: jax.Array, action: jax.Array) -> jax.Array:
        """Values `[E, B]` of columns of observation `[D, B]` and action `[A, B]`."""
        return self.network(jnp.concatenate([observation, action])).squeeze(-2)


def init_critics(
    rng: np.random.Generator,
    observation_size: int,
    action_size: int,
    hidden: Sequence[int],
    *,
    critics: int,
    layer_norm: bool,
) -> CriticEnsemble:
    """E fresh critics, each with its own weights."""
    sizes = (observation_size + action_size, *hidden, 1)
    return CriticEnsemble(init_mlp(rng, sizes, ensemble=critics, layer_norm=layer_norm))
