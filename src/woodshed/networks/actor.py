"""A stochastic policy on [-1, 1]: a Gaussian squashed by tanh."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from woodshed.networks.mlp import MLP, init_mlp

LOG_STD_MIN, LOG_STD_MAX = -10.0, 2.0


class SquashedGaussian(NamedTuple):
    """The law of tanh(u) with u ~ Normal(mean, exp(log_std)), independent for each action."""

    mean: jax.Array
    """`[A, B]`"""
    log_std: jax.Array
    """`[A, B]`"""

    def sample(self, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Actions `[A, B]` in [-1, 1] and their log-densities `[B]`, from normal noise `[A, B]`.

        The density follows from the change of variables (Haarnoja et al., 2018, appendix C):
        log p(tanh(u)) = log Normal(u) - sum log(1 - tanh(u)^2). The last logarithm is written as
        2 (log 2 - |u| - log(1 + exp(-2 |u|))), which stays exact where tanh(u) rounds to 1.
        """
        u = self.mean + jnp.exp(self.log_std) * noise
        log_normal = -0.5 * jnp.square(noise) - self.log_std - 0.5 * np.log(2 * np.pi)
        size = jnp.abs(u)
        log_slope = 2 * (np.log(2) - size - jnp.log1p(jnp.exp(-2 * size)))
        return jnp.tanh(u), (log_normal - log_slope).sum(axis=0)

    def mode(self) -> jax.Array:
        """The action without noise, `[A, B]`: tanh of the mean."""
        return jnp.tanh(self.mean)


class GaussianActor(eqx.Module):
    """Observation to a squashed Gaussian whose deviation depends on the observation."""

    network: MLP

    def __call__(self, observation: jax.Array) -> SquashedGaussian:
        """The policy at columns of observation `[D, B]`."""
        mean, log_std = jnp.split(self.network(observation), 2)
        return SquashedGaussian(mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX))


def init_actor(
    rng: np.random.Generator, observation_size: int, action_size: int, hidden: Sequence[int]
) -> GaussianActor:
    """A fresh actor."""
    return GaussianActor(init_mlp(rng, (observation_size, *hidden, 2 * action_size)))
