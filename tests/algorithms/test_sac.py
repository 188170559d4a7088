import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.algorithms.batches import A, B, D, assert_differ, assert_equal, make_batch
from tests.algorithms.reference import gaussian, values

from woodshed.algorithms import ALGORITHMS, SAC, SACState
from woodshed.errors import WoodshedError

SMALL = SAC(hidden=(8, 6), learning_rate=1e-2, target_rate=0.25)

update = jax.jit(SAC.update, static_argnums=0)


def init(algorithm: SAC = SMALL, seed: int = 0) -> SACState:
    return algorithm.init(jax.random.key(seed), D, A)


def nearly_deterministic(state: SACState) -> SACState:
    """The state with a deviation of exp(-10) and a temperature of about 0."""
    last = state.actor.network.layers[-1]
    bias = last.bias.at[A:].set(-1e3)
    layers = (*state.actor.network.layers[:-1], replace(last, bias=bias))
    actor = replace(state.actor, network=replace(state.actor.network, layers=layers))
    return state._replace(actor=actor, log_temperature=jnp.float32(-40))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": ()}, "hidden is"),
        ({"hidden": (64, 0)}, "hidden is"),
        ({"hidden": (64, 2.5)}, "hidden is"),
        ({"hidden": [64, 64]}, "expected a tuple"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": -1e-3}, "learning_rate is -0.001"),
        ({"learning_rate": math.inf}, "learning_rate is inf"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"critics": 0}, "critics is 0"),
        ({"critics": 1.5}, "critics is 1.5"),
        ({"target_rate": 0.0}, "target_rate is 0.0"),
        ({"target_rate": 1.1}, "target_rate is 1.1"),
        ({"target_rate": math.nan}, "target_rate is nan"),
        ({"initial_temperature": 0.0}, "initial_temperature is 0.0"),
        ({"initial_temperature": math.inf}, "initial_temperature is inf"),
        ({"target_entropy": math.nan}, "target_entropy is nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(WoodshedError, match=message):
        SAC(**settings)


def test_settings_at_the_edge_are_taken() -> None:
    SAC(hidden=(1,), critics=1, target_rate=1.0, target_entropy=0.0)


@pytest.mark.parametrize(("observation_size", "action_size"), [(0, 1), (1, 0)])
def test_sizes_below_one_are_refused(observation_size: int, action_size: int) -> None:
    with pytest.raises(WoodshedError, match="expected at least 1"):
        SMALL.init(jax.random.key(0), observation_size, action_size)


def test_algorithms_are_found_by_name() -> None:
    assert ALGORITHMS["sac"] is SAC


def test_first_state() -> None:
    state = init(replace(SMALL, critics=3, initial_temperature=0.5, layer_norm=True))

    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    shapes = [layer.weight.shape for layer in state.actor.network.layers]
    assert shapes == [(8, D), (6, 8), (2 * A, 6)]
    shapes = [layer.weight.shape for layer in state.critic.network.layers]
    assert shapes == [(3, 8, D + A), (3, 6, 8), (3, 1, 6)]
    assert state.critic.network.layer_norm
    assert not state.actor.network.layer_norm
    assert_equal(state.critic, state.target_critic)
    assert state.log_temperature == pytest.approx(math.log(0.5))
    assert state.step == 0


def test_no_two_arrays_of_the_first_state_share_memory() -> None:
    leaves = jax.tree.leaves(init())

    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


def test_the_key_decides_weights_and_noise() -> None:
    assert_equal(init(seed=1), init(seed=1))
    assert_differ(init(seed=1).key, init(seed=2).key)
    assert_differ(
        init(seed=1).actor.network.layers[0].weight, init(seed=2).actor.network.layers[0].weight
    )


def test_acting_without_exploring_takes_the_mode() -> None:
    actor, observation = init().actor, make_batch().observation

    action = SMALL.act(actor, observation, jax.random.key(0), explore=False)

    mean, _ = gaussian(actor, observation)
    np.testing.assert_allclose(action, np.tanh(mean), rtol=1e-4, atol=1e-5)
    assert_equal(action, SMALL.act(actor, observation, jax.random.key(1), explore=False))


def test_exploring_draws_from_the_policy() -> None:
    actor = init().actor
    observation = jnp.tile(make_batch().observation[:1], (4000, 1))

    action = SMALL.act(actor, observation, jax.random.key(0), explore=True)

    assert action.shape == (4000, A)
    u = np.arctanh(np.clip(action, -0.999999, 0.999999))
    mean, std = gaussian(actor, observation[:1])
    np.testing.assert_allclose(u.mean(axis=0), mean[0], atol=0.1)
    np.testing.assert_allclose(u.std(axis=0), std[0], rtol=0.1)
    assert_differ(action, SMALL.act(actor, observation, jax.random.key(1), explore=True))


def test_the_target_is_reward_plus_discounted_least_target_value() -> None:
    state = nearly_deterministic(init())
    # Other weights in the target critics than in the critics: it must be they that are asked.
    state = state._replace(target_critic=init(seed=5).critic)
    batch = make_batch()

    _, metrics, td_error = update(SMALL, state, batch)

    mean, _ = gaussian(state.actor, batch.next_observation)
    least = values(state.target_critic, batch.next_observation, np.tanh(mean)).min(axis=0)
    target = np.asarray(batch.reward) + np.asarray(batch.discount) * least
    q = values(state.critic, batch.observation, batch.action)
    np.testing.assert_allclose(metrics["target_mean"], target.mean(), rtol=2e-3)
    np.testing.assert_allclose(td_error, np.abs(q - target).mean(axis=0), rtol=5e-3, atol=1e-4)
    np.testing.assert_allclose(
        metrics["critic_loss"], ((q - target) ** 2).sum(axis=0).mean() / 2, rtol=5e-3
    )


def test_the_target_has_the_entropy_of_the_next_action() -> None:
    cold = nearly_deterministic(init())
    warm = cold._replace(log_temperature=jnp.float32(math.log(0.1)))
    batch = make_batch(discount=np.ones(B))
    gained = []
    for step in range(6):  # each with its own noise
        _, without, _ = update(SMALL, cold._replace(step=jnp.int32(step)), batch)
        _, with_entropy, _ = update(SMALL, warm._replace(step=jnp.int32(step)), batch)
        gained.append(with_entropy["target_mean"] - without["target_mean"])

    # So narrow a Gaussian only shifts by the slope of tanh at its mean.
    mean, _ = gaussian(cold.actor, batch.next_observation)
    slope = np.log(1 - np.tanh(mean) ** 2).sum(axis=1).mean()
    entropy = A * (0.5 * math.log(2 * math.pi * math.e) - 10) + slope
    np.testing.assert_allclose(np.mean(gained), 0.1 * entropy, rtol=0.04)


def test_nothing_is_bootstrapped_at_discount_zero() -> None:
    batch = make_batch(discount=np.zeros(B), next_observation=np.full((B, D), 1e6))

    _, metrics, td_error = update(SMALL, init(), batch)

    q = values(init().critic, batch.observation, batch.action)
    np.testing.assert_allclose(metrics["target_mean"], batch.reward.mean(), rtol=1e-5)
    np.testing.assert_allclose(td_error, np.abs(q - batch.reward).mean(axis=0), rtol=1e-3)


def test_the_actor_is_judged_by_the_new_critics() -> None:
    state = nearly_deterministic(init())
    batch = make_batch()

    new, metrics, _ = update(SMALL, state, batch)

    mean, _ = gaussian(state.actor, batch.observation)
    least = values(new.critic, batch.observation, np.tanh(mean)).min(axis=0)
    before = values(state.critic, batch.observation, np.tanh(mean)).min(axis=0)
    np.testing.assert_allclose(metrics["actor_loss"], -least.mean(), rtol=2e-3)
    assert abs(float(metrics["actor_loss"]) + before.mean()) > 1e-2


def test_target_critics_follow_the_new_critics() -> None:
    state = init()._replace(target_critic=init(seed=5).critic)

    new, _, _ = update(SMALL, state, make_batch())

    for target, online, moved in zip(
        jax.tree.leaves(state.target_critic),
        jax.tree.leaves(new.critic),
        jax.tree.leaves(new.target_critic),
        strict=True,
    ):
        np.testing.assert_allclose(moved, 0.75 * target + 0.25 * online, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("target_entropy", "direction"), [(-50.0, -1), (50.0, 1)])
def test_temperature_holds_the_entropy(target_entropy: float, direction: int) -> None:
    algorithm = replace(SMALL, target_entropy=target_entropy, initial_temperature=0.5)

    new, metrics, _ = update(algorithm, init(algorithm), make_batch())

    # Adam's first step has the size of the learning rate.
    np.testing.assert_allclose(new.log_temperature, math.log(0.5) + direction * 1e-2, rtol=1e-4)
    assert metrics["temperature"] == pytest.approx(0.5)


def test_target_entropy_is_minus_the_action_dimensions_unless_given() -> None:
    new, metrics, _ = update(SMALL, init(), make_batch())

    # Adam's first moments after one step: a tenth of the slope, and a thousandth of its square.
    slope = float(metrics["entropy"]) + A
    _, mean, square = jax.tree.leaves(new.temperature_optimiser)
    np.testing.assert_allclose(mean, [0.1 * slope], rtol=1e-5)
    np.testing.assert_allclose(square, [1e-3 * slope**2], rtol=1e-5)


def test_importance_weights_scale_what_the_critics_learn() -> None:
    state = init()

    nothing, metrics, td_error = update(SMALL, state, make_batch(weight=np.zeros(B)))

    assert_equal(nothing.critic, state.critic)
    assert metrics["critic_loss"] == 0
    assert np.all(td_error > 0)


def test_an_update_changes_all_that_learns() -> None:
    state = init()

    new, metrics, td_error = update(SMALL, state, make_batch())

    assert_differ(new.actor, state.actor)
    assert_differ(new.critic, state.critic)
    assert_differ(new.log_temperature, state.log_temperature)
    assert_equal(new.key, state.key)
    assert new.step == 1
    assert td_error.shape == (B,)
    assert set(metrics) == {
        "critic_loss",
        "actor_loss",
        "temperature",
        "entropy",
        "q_mean",
        "target_mean",
    }
    assert all(value.shape == () for value in metrics.values())


def test_each_update_draws_noise_of_its_own() -> None:
    state = init()

    _, first, _ = update(SMALL, state, make_batch())
    _, again, _ = update(SMALL, state, make_batch())
    _, second, _ = update(SMALL, state._replace(step=jnp.int32(1)), make_batch())

    assert_equal(first, again)
    assert first["entropy"] != second["entropy"]
    assert first["target_mean"] != second["target_mean"]


def test_action_and_next_action_are_drawn_with_noise_of_their_own() -> None:
    state = init()
    worthless = state._replace(target_critic=jax.tree.map(jnp.zeros_like, state.critic))
    batch = make_batch(reward=np.zeros(B), discount=np.ones(B))
    staying = batch._replace(next_observation=batch.observation)

    _, metrics, _ = update(SMALL, worthless, staying)

    # The target is the entropy alone, of the same policy: estimated twice.
    assert metrics["target_mean"] != pytest.approx(float(metrics["entropy"]), rel=1e-3)
    assert metrics["target_mean"] == pytest.approx(float(metrics["entropy"]), abs=2)


@pytest.mark.parametrize("critics", [1, 5])
def test_any_number_of_critics(critics: int) -> None:
    algorithm = replace(SMALL, critics=critics, layer_norm=True)
    state, batch = nearly_deterministic(init(algorithm)), make_batch()

    _, metrics, _ = update(algorithm, state, batch)

    mean, _ = gaussian(state.actor, batch.next_observation)
    least = values(state.target_critic, batch.next_observation, np.tanh(mean)).min(axis=0)
    target = np.asarray(batch.reward) + np.asarray(batch.discount) * least
    np.testing.assert_allclose(metrics["target_mean"], target.mean(), rtol=5e-3)
