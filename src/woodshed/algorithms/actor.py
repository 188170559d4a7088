"""Actor step: towards actions of high value and high entropy."""

import jax
import optax

from woodshed.algorithms.targets import soft_value
from woodshed.networks.actor import GaussianActor
from woodshed.networks.critic import CriticEnsemble

Info = dict[str, jax.Array]


def actor_loss(
    actor: GaussianActor,
    critic: CriticEnsemble,
    temperature: jax.Array,
    observation: jax.Array,
    noise: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """J(pi) = mean_B temperature * log pi(a | s) - min_E Q(s, a), with a reparameterised.

    Args:
        actor: the policy
        critic: E action-value functions, constants
        temperature: scalar, a constant
        observation: `[D, B]`
        noise: `[A, B]`, standard normal

    Returns:
        The loss and the policy's entropy, estimated as mean -log pi (scalars).
        Source: Haarnoja et al., 2018, eq. 7.
    """
    action, log_prob = actor(observation).sample(noise)
    value = soft_value(critic(observation, action), log_prob, temperature)
    return -value.mean(), -log_prob.mean()


def update_actor(
    actor: GaussianActor,
    optimiser: optax.GradientTransformation,
    optimiser_state: optax.OptState,
    critic: CriticEnsemble,
    temperature: jax.Array,
    observation: jax.Array,
    noise: jax.Array,
) -> tuple[GaussianActor, optax.OptState, Info]:
    """One gradient step."""
    (loss, entropy), gradient = jax.value_and_grad(actor_loss, has_aux=True)(
        actor, critic, temperature, observation, noise
    )
    step, optimiser_state = optimiser.update(gradient, optimiser_state)
    info = {"actor_loss": loss, "entropy": entropy}
    return optax.apply_updates(actor, step), optimiser_state, info
