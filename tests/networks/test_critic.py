import jax.numpy as jnp
import numpy as np
import pytest
from tests.algorithms.reference import linear_critics, values

from woodshed.networks import init_critics


@pytest.mark.parametrize("critics", [1, 2, 5])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_each_critic_values_observation_and_action(critics: int, layer_norm: bool) -> None:
    rng = np.random.default_rng(0)
    critic = init_critics(rng, 3, 2, (8, 6), critics=critics, layer_norm=layer_norm)
    observation, action = rng.normal(size=(7, 3)), rng.uniform(-1, 1, size=(7, 2))

    q = critic(jnp.asarray(observation.T, jnp.float32), jnp.asarray(action.T, jnp.float32))

    assert q.shape == (critics, 7)
    np.testing.assert_allclose(q, values(critic, observation, action), rtol=1e-4, atol=1e-5)


def test_a_linear_critic_by_hand() -> None:
    critic = linear_critics([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]], [10.0, 0.0])

    q = critic(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[0.5, -1.0]]))

    np.testing.assert_array_equal(q, [[12.0, 10.0], [-2.75, -4.5]])
