"""Temperature step: hold the policy's entropy at its target."""

import jax
import jax.numpy as jnp
import optax

Info = dict[str, jax.Array]


def temperature_loss(
    log_temperature: jax.Array, entropy: jax.Array, target_entropy: float
) -> jax.Array:
    """J = log temperature * (entropy - target): its slope is positive where entropy is too high.

    Learnt as a logarithm, the temperature stays positive, and its pull does not fade as it
    becomes small. Source: Haarnoja et al., 2018, eq. 18, with log temperature in its place.
    """
    return log_temperature * (entropy - target_entropy)


def update_temperature(
    log_temperature: jax.Array,
    optimiser: optax.GradientTransformation,
    optimiser_state: optax.OptState,
    entropy: jax.Array,
    target_entropy: float,
) -> tuple[jax.Array, optax.OptState, Info]:
    """One gradient step; the info holds the temperature before it."""
    gradient = jax.grad(temperature_loss)(log_temperature, entropy, target_entropy)
    step, optimiser_state = optimiser.update(gradient, optimiser_state)
    info = {"temperature": jnp.exp(log_temperature)}
    return log_temperature + step, optimiser_state, info
