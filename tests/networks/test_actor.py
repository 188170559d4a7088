from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from tests.algorithms.reference import constant_actor, gaussian, log_density, squashed

from woodshed.networks import init_actor

HALF_LOG_TWO_PI = 0.9189385332


def sample_one(mean: float, log_std: float, noise: Any) -> tuple[jax.Array, jax.Array]:
    """Of a one-dimensional law, for an array of noise."""
    noise = np.atleast_1d(noise)
    law = squashed(np.full((1, len(noise)), mean), np.full((1, len(noise)), log_std))
    return law.sample(jnp.asarray(noise, jnp.float32)[None])


@pytest.mark.parametrize(
    ("mean", "log_std", "noise", "action", "log_prob"),
    [
        (0.0, 0.0, 0.0, 0.0, -HALF_LOG_TWO_PI),
        (0.0, -2.0, 0.0, 0.0, 2 - HALF_LOG_TWO_PI),
        # u = 1: tanh 0.7615942, and log(1 - tanh^2) = -0.8675617.
        (0.0, 0.0, 1.0, 0.7615942, -0.5 - HALF_LOG_TWO_PI + 0.8675617),
        (0.0, 0.0, -1.0, -0.7615942, -0.5 - HALF_LOG_TWO_PI + 0.8675617),
        # u = 30, where tanh is 1 in floats: log(1 - tanh^2) = 2 log 2 - 60.
        (30.0, 0.0, 0.0, 1.0, -HALF_LOG_TWO_PI + 60 - 1.3862944),
        (-30.0, 0.0, 0.0, -1.0, -HALF_LOG_TWO_PI + 60 - 1.3862944),
        (-60.0, 0.0, 0.0, -1.0, -HALF_LOG_TWO_PI + 120 - 1.3862944),
    ],
)
def test_log_density_by_hand(
    mean: float, log_std: float, noise: float, action: float, log_prob: float
) -> None:
    got_action, got_log_prob = sample_one(mean, log_std, noise)

    np.testing.assert_allclose(got_action, [[action]], rtol=1e-5)
    np.testing.assert_allclose(got_log_prob, [log_prob], rtol=1e-5)


@pytest.mark.parametrize(("mean", "log_std"), [(0.3, -0.5), (-0.8, 0.2), (0.0, -1.5)])
def test_log_density_is_the_slope_of_the_distribution_function(mean: float, log_std: float) -> None:
    def distribution(action: float) -> float:
        """P(tanh(u) <= action)."""
        return float(stats.norm.cdf(np.arctanh(action), mean, np.exp(log_std)))

    actions, log_probs = sample_one(mean, log_std, np.linspace(-2, 2, 9))

    for action, log_prob in zip(actions[0].tolist(), log_probs.tolist(), strict=True):
        slope = (distribution(action + 1e-5) - distribution(action - 1e-5)) / 2e-5
        assert log_prob == pytest.approx(np.log(slope), abs=2e-4)


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.5, -1.0), (-1.0, 0.3)])
def test_density_integrates_to_one(mean: float, log_std: float) -> None:
    actions, log_probs = sample_one(mean, log_std, np.linspace(-6, 6, 4001))

    total = integrate.trapezoid(np.exp(np.float64(log_probs)), np.float64(actions[0]))

    assert total == pytest.approx(1, abs=1e-3)


def test_dimensions_are_independent_and_samples_are_columns() -> None:
    rng = np.random.default_rng(0)
    mean, log_std, noise = rng.normal(size=(3, 4, 2)) * 0.5

    action, log_prob = squashed(mean, log_std).sample(jnp.asarray(noise, jnp.float32))

    std = np.exp(log_std)
    u = mean + std * noise
    np.testing.assert_allclose(action, np.tanh(u), rtol=1e-5)
    np.testing.assert_allclose(log_prob, log_density(u.T, mean.T, std.T), rtol=1e-4)


@pytest.mark.parametrize("mean", [-60.0, -1.0, 0.0, 1.0, 60.0])
def test_slopes_are_finite_and_right_far_out_and_at_zero(mean: float) -> None:
    def log_prob(mean: jax.Array) -> jax.Array:
        return squashed(mean[None, None], jnp.zeros((1, 1))).sample(jnp.zeros((1, 1)))[1][0]

    slope = jax.grad(log_prob)(jnp.float32(mean))

    # -d/du log(1 - tanh(u)^2) = 2 tanh(u)
    np.testing.assert_allclose(slope, 2 * np.tanh(mean), rtol=1e-5, atol=1e-7)


def test_mode_is_tanh_of_the_mean() -> None:
    law = squashed([[0.0, 1.0], [-1.0, 50.0]], np.zeros((2, 2)))

    np.testing.assert_allclose(law.mode(), [[0, 0.7615942], [-0.7615942, 1]], rtol=1e-6)


def test_actor_gives_mean_then_log_deviation() -> None:
    rng = np.random.default_rng(1)
    actor = init_actor(rng, 3, 2, (8, 6))
    observation = rng.normal(size=(7, 3))

    law = actor(jnp.asarray(observation.T, jnp.float32))

    mean, std = gaussian(actor, observation)
    assert mean.shape == (7, 2)
    np.testing.assert_allclose(law.mean.T, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.exp(law.log_std).T, std, rtol=1e-4, atol=1e-5)


def test_log_deviation_is_clipped() -> None:
    actor = constant_actor([0.0, 0.0, 0.0], [-1000.0, 1000.0, 1.5], observation_size=1)

    law = actor(jnp.zeros((1, 1)))

    np.testing.assert_array_equal(law.log_std[:, 0], [-10.0, 2.0, 1.5])
