import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.algorithms.reference import network_rows

from woodshed.networks import Linear, init_mlp
from woodshed.networks.mlp import normalise


def test_linear_is_a_matrix_times_columns_plus_a_bias() -> None:
    layer = Linear(jnp.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]]), jnp.array([[10.0], [0], [1]]))

    y = layer(jnp.array([[1.0, 2.0, 0.0, 1.0], [1.0, 0.0, -1.0, 5.0]]))

    np.testing.assert_array_equal(
        y, [[13.0, 12.0, 8.0, 21.0], [-1.0, 0.0, 1.0, -5.0], [4.0, 7.0, 1.0, 4.0]]
    )


def test_an_ensemble_layer_takes_a_shared_x_or_one_for_each_member() -> None:
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3, 1))
    layer = Linear(jnp.asarray(weight), jnp.asarray(bias))
    shared, own = rng.normal(size=(2, 5)), rng.normal(size=(4, 2, 5))

    of_shared, of_own = layer(jnp.asarray(shared)), layer(jnp.asarray(own))

    for e in range(4):
        np.testing.assert_allclose(of_shared[e], weight[e] @ shared + bias[e], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(of_own[e], weight[e] @ own[e] + bias[e], rtol=1e-5, atol=1e-6)


def test_normalise_brings_each_column_to_mean_0_and_variance_1() -> None:
    x = jnp.array([[1.0, 0.0, 5.0], [3.0, 0.0, 5.0], [1.0, 300.0, 5.0], [3.0, 300.0, 5.0]])

    y = normalise(x)

    np.testing.assert_allclose(
        y, [[-1, -1, 0], [1, -1, 0], [-1, 1, 0], [1, 1, 0]], rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("layer_norm", [False, True])
def test_mlp_computes_its_layers_with_relu_between(layer_norm: bool) -> None:
    rng = np.random.default_rng(1)
    network = init_mlp(rng, (3, 8, 7, 2), layer_norm=layer_norm)
    x = rng.normal(size=(6, 3))

    y = network(jnp.asarray(x.T, jnp.float32))

    np.testing.assert_allclose(y.T, network_rows(network, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_ensemble_members_are_networks_of_their_own(layer_norm: bool) -> None:
    rng = np.random.default_rng(2)
    network = init_mlp(rng, (3, 8, 7, 2), ensemble=3, layer_norm=layer_norm)
    x = rng.normal(size=(6, 3))

    y = network(jnp.asarray(x.T, jnp.float32))

    assert y.shape == (3, 2, 6)
    for e in range(3):
        np.testing.assert_allclose(y[e].T, network_rows(network, x, e), rtol=1e-4, atol=1e-5)
    assert not np.allclose(y[0], y[1])


def test_fresh_weights_are_uniform_with_variance_one_over_inputs() -> None:
    network = init_mlp(np.random.default_rng(3), (300, 200, 1), ensemble=2)

    first = np.asarray(network.layers[0].weight)
    assert first.shape == (2, 200, 300)
    assert first.dtype == np.float32
    assert np.abs(first).max() <= 0.1  # sqrt(3 / 300)
    assert np.abs(first).max() > 0.0999
    assert first.var() == pytest.approx(1 / 300, rel=0.02)
    assert first.mean() == pytest.approx(0, abs=1e-3)
    assert np.abs(network.layers[1].weight).max() <= 0.1225  # sqrt(3 / 200)
    assert network.layers[0].bias.shape == (2, 200, 1)
    assert not any(np.any(layer.bias) for layer in network.layers)


def test_the_generator_decides_the_weights() -> None:
    def draw(seed: int) -> list[jax.Array]:
        return jax.tree.leaves(init_mlp(np.random.default_rng(seed), (3, 4, 2)))

    for one, same, other in zip(draw(0), draw(0), draw(1), strict=True):
        np.testing.assert_array_equal(one, same)
        assert one.shape[1] == 1 or not np.array_equal(one, other)


def test_leaves_are_arrays_only_so_plain_jax_functions_take_a_network() -> None:
    network = init_mlp(np.random.default_rng(4), (3, 4, 2), layer_norm=True)

    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(network))
    doubled = jax.jit(lambda tree: jax.tree.map(lambda leaf: 2 * leaf, tree))(network)
    assert doubled.layer_norm
    np.testing.assert_array_equal(doubled.layers[0].weight, 2 * network.layers[0].weight)
