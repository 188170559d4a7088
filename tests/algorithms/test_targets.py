import jax.numpy as jnp
import numpy as np

from woodshed.algorithms.targets import bellman_target, polyak, soft_value


def test_bellman_target_bootstraps_by_the_discount() -> None:
    target = bellman_target(
        reward=jnp.array([1.0, 1.0, -2.0]),
        discount=jnp.array([0.5, 0.0, 1.0]),
        value_next=jnp.array([10.0, 1e30, 3.0]),
    )

    np.testing.assert_array_equal(target, [6.0, 1.0, 1.0])


def test_soft_value_is_the_least_value_plus_entropy() -> None:
    q = jnp.array([[1.0, 5.0, -1.0], [2.0, 3.0, -1.0], [4.0, 9.0, 0.0]])

    value = soft_value(q, log_prob=jnp.array([0.5, -1.0, 0.0]), temperature=jnp.float32(0.2))

    np.testing.assert_allclose(value, [0.9, 3.2, -1.0], rtol=1e-6)


def test_polyak_goes_a_share_of_the_way() -> None:
    target = {"a": jnp.array([0.0, 8.0]), "b": jnp.array(-4.0)}
    online = {"a": jnp.array([4.0, 0.0]), "b": jnp.array(-4.0)}

    moved = polyak(target, online, 0.25)

    np.testing.assert_array_equal(moved["a"], [1.0, 6.0])
    np.testing.assert_array_equal(moved["b"], -4.0)
    np.testing.assert_array_equal(polyak(target, online, 1.0)["a"], online["a"])
