"""Critic step: mean squared Bellman error."""

import jax
import jax.numpy as jnp
import optax

from woodshed.networks.critic import CriticEnsemble

Info = dict[str, jax.Array]


def critic_loss(
    critic: CriticEnsemble,
    observation: jax.Array,
    action: jax.Array,
    target: jax.Array,
    weight: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """J(Q) = mean_B weight * sum_E (Q - target)^2 / 2, and Q itself.

    Args:
        critic: E action-value functions
        observation: `[D, B]`
        action: `[A, B]`
        target: `[B]`, a constant
        weight: `[B]`

    Returns:
        The loss (scalar) and the values `[E, B]`. Source: Haarnoja et al., 2018, eq. 5.
    """
    q = critic(observation, action)
    return (weight * 0.5 * jnp.square(q - target).sum(axis=0)).mean(), q


def update_critic(
    critic: CriticEnsemble,
    optimiser: optax.GradientTransformation,
    optimiser_state: optax.OptState,
    observation: jax.Array,
    action: jax.Array,
    target: jax.Array,
    weight: jax.Array,
) -> tuple[CriticEnsemble, optax.OptState, jax.Array, Info]:
    """One gradient step; also the error `[B]`: mean over the ensemble of |Q - target|."""
    (loss, q), gradient = jax.value_and_grad(critic_loss, has_aux=True)(
        critic, observation, action, target, weight
    )
    step, optimiser_state = optimiser.update(gradient, optimiser_state)
    info = {"critic_loss": loss, "q_mean": q.mean(), "target_mean": target.mean()}
    return (
        optax.apply_updates(critic, step),
        optimiser_state,
        jnp.abs(q - target).mean(axis=0),
        info,
    )
