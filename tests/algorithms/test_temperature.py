import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from woodshed.algorithms.temperature import temperature_loss, update_temperature

SGD = optax.sgd(0.1)


@pytest.mark.parametrize(
    ("entropy", "target", "slope"), [(1.5, -2.0, 3.5), (-3.0, -2.0, -1.0), (-2.0, -2.0, 0.0)]
)
@pytest.mark.parametrize("log_temperature", [-5.0, 0.0, 2.0])
def test_slope_is_how_far_entropy_is_above_its_target(
    log_temperature: float, entropy: float, target: float, slope: float
) -> None:
    gradient = jax.grad(temperature_loss)(jnp.float32(log_temperature), entropy, target)

    assert gradient == slope


def test_too_much_entropy_lowers_the_temperature_and_too_little_raises_it() -> None:
    start = jnp.float32(-1.0)

    lower, _, info = update_temperature(start, SGD, SGD.init(start), jnp.float32(1.5), -2.0)
    higher, _, _ = update_temperature(start, SGD, SGD.init(start), jnp.float32(-3.0), -2.0)

    np.testing.assert_allclose(lower, -1.35, rtol=1e-6)
    np.testing.assert_allclose(higher, -0.9, rtol=1e-6)
    np.testing.assert_allclose(info["temperature"], 0.3678794, rtol=1e-6)
