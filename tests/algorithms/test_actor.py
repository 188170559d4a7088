import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.algorithms.reference import (
    constant_actor,
    gaussian,
    linear_critics,
    log_density,
    values,
)

from woodshed.algorithms.actor import actor_loss, update_actor
from woodshed.networks import init_actor, init_critics

SGD = optax.sgd(1.0)


def test_loss_is_temperature_times_log_density_minus_the_least_value() -> None:
    rng = np.random.default_rng(0)
    actor = init_actor(rng, 3, 2, (8, 6))
    critic = init_critics(rng, 3, 2, (8, 6), critics=3, layer_norm=True)
    observation, noise = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))

    loss, entropy = actor_loss(
        actor,
        critic,
        jnp.float32(0.3),
        jnp.asarray(observation.T, jnp.float32),
        jnp.asarray(noise.T, jnp.float32),
    )

    mean, std = gaussian(actor, observation)
    u = mean + std * noise
    log_prob = log_density(u, mean, std)
    least = values(critic, observation, np.tanh(u)).min(axis=0)
    np.testing.assert_allclose(loss, (0.3 * log_prob - least).mean(), rtol=1e-4)
    np.testing.assert_allclose(entropy, -log_prob.mean(), rtol=1e-4)


def test_step_follows_the_slope_of_the_loss_through_the_least_critic() -> None:
    # Two dimensions of action, two linear critics: which is the least depends on the sample.
    rng = np.random.default_rng(1)
    mean, log_std = np.array([0.2, -0.6]), np.array([-0.4, 0.1])
    weights, biases = np.array([[0.5, 1.0, -2.0], [-0.5, 3.0, 0.7]]), np.array([0.1, -0.1])
    observation, noise = rng.normal(size=(9, 1)), rng.normal(size=(9, 2))
    actor = constant_actor(mean, log_std, observation_size=1)
    critic = linear_critics(weights, biases)

    new, _, info = update_actor(
        actor,
        SGD,
        SGD.init(actor),
        critic,
        jnp.float32(0.3),
        jnp.asarray(observation.T, jnp.float32),
        jnp.asarray(noise.T, jnp.float32),
    )

    std = np.exp(log_std)
    action = np.tanh(mean + std * noise)
    least = values(critic, observation, action).argmin(axis=0)
    assert set(least) == {0, 1}
    # d log pi / du = 2 tanh(u) with the noise held; dQ/du = w (1 - tanh(u)^2).
    slope_u = 0.3 * 2 * action - weights[least, 1:] * (1 - action**2)
    slope_mean = slope_u.mean(axis=0)
    slope_log_std = (slope_u * std * noise - 0.3).mean(axis=0)
    before, after = actor.network.layers[0].bias, new.network.layers[0].bias
    np.testing.assert_allclose(
        (before - after)[:, 0], [*slope_mean, *slope_log_std], rtol=1e-4, atol=1e-6
    )
    assert set(info) == {"actor_loss", "entropy"}


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_without_temperature_the_policy_goes_where_value_rises(sign: float) -> None:
    actor = constant_actor([0.0], [-1.0], observation_size=1)

    new, _, _ = update_actor(
        actor,
        SGD,
        SGD.init(actor),
        linear_critics([[0.0, sign]], [0.0]),
        jnp.float32(0.0),
        jnp.zeros((1, 4)),
        jnp.array([[-1.0, -0.5, 0.5, 1.0]]),
    )

    assert sign * float(new(jnp.zeros((1, 1))).mode()[0, 0]) > 0.1
