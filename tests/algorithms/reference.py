"""Networks and losses once more: numpy, float64, one row for each sample, plain formulas."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from woodshed.networks import MLP, CriticEnsemble, GaussianActor, Linear, SquashedGaussian

F = NDArray[np.float64]


def network_rows(network: MLP, x: Any, member: int | None = None) -> F:
    """`[B, in] -> [B, out]` of a network, or of one member of an ensemble."""
    rows = np.asarray(x, np.float64)
    for number, layer in enumerate(network.layers):
        weight, bias = np.asarray(layer.weight, np.float64), np.asarray(layer.bias, np.float64)
        if member is not None:
            weight, bias = weight[member], bias[member]
        rows = rows @ weight.T + bias[:, 0]
        if number < len(network.layers) - 1:
            if network.layer_norm:
                rows = rows - rows.mean(1, keepdims=True)
                rows = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-5)
            rows = np.where(rows > 0, rows, 0)
    return rows


def values(critic: CriticEnsemble, observation: Any, action: Any) -> F:
    """`[E, B]` from rows of observation and action."""
    rows = np.concatenate([observation, action], axis=1)
    members = len(critic.network.layers[0].weight)
    return np.stack([network_rows(critic.network, rows, e)[:, 0] for e in range(members)])


def gaussian(actor: GaussianActor, observation: Any) -> tuple[F, F]:
    """Mean and deviation `[B, A]` before squashing."""
    mean, log_std = np.split(network_rows(actor.network, observation), 2, axis=1)
    return mean, np.exp(np.clip(log_std, -10, 2))


def log_density(u: F, mean: F, std: F) -> F:
    """`[B]` of the action tanh(u), for u ~ Normal(mean, std): `[B, A]`; not for |u| above 5."""
    normal = np.exp(-0.5 * ((u - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    density: F = np.prod(normal / (1 - np.tanh(u) ** 2), axis=1)
    return np.log(density)


def linear_critics(weights: Any, biases: Any) -> CriticEnsemble:
    """Critics without hidden layers: Q_e = weights[e] . (observation, action) + biases[e]."""
    weight = np.asarray(weights, np.float32)[:, None, :]
    bias = np.asarray(biases, np.float32)[:, None, None]
    return CriticEnsemble(MLP((_linear(weight, bias),), layer_norm=False))


def constant_actor(mean: Any, log_std: Any, observation_size: int) -> GaussianActor:
    """An actor whose policy is the same everywhere; its weights are 0."""
    bias = np.concatenate([mean, log_std]).astype(np.float32)[:, None]
    weight = np.zeros((len(bias), observation_size), np.float32)
    return GaussianActor(MLP((_linear(weight, bias),), layer_norm=False))


def squashed(mean: Any, log_std: Any) -> SquashedGaussian:
    """A law from arrays `[A, B]`, float32."""
    return SquashedGaussian(_array(mean), _array(log_std))


def _linear(weight: Any, bias: Any) -> Linear:
    return Linear(_array(weight), _array(bias))


def _array(value: Any) -> jax.Array:
    return jnp.asarray(value, jnp.float32)
