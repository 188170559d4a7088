from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.algorithms.reference import linear_critics, values

from woodshed.algorithms.critic import critic_loss, update_critic
from woodshed.networks import CriticEnsemble, init_critics

SGD = optax.sgd(0.1)


class Case(NamedTuple):
    critic: CriticEnsemble
    observation: Any
    """Rows, as are the others."""
    action: Any
    target: Any
    weight: Any

    @property
    def arguments(self) -> tuple[jax.Array, ...]:
        columns = (jnp.asarray(rows.T, jnp.float32) for rows in self[1:])
        return tuple(columns)


def make_case(critics: int = 3) -> Case:
    rng = np.random.default_rng(0)
    return Case(
        critic=init_critics(rng, 3, 2, (8, 6), critics=critics, layer_norm=False),
        observation=rng.normal(size=(7, 3)),
        action=rng.uniform(-1, 1, (7, 2)),
        target=rng.normal(size=7),
        weight=rng.uniform(0, 2, 7),
    )


def test_loss_by_hand() -> None:
    critic = linear_critics([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])  # Q = (s, a)

    loss, q = critic_loss(
        critic,
        observation=jnp.array([[2.0, 0.0]]),
        action=jnp.array([[1.0, -1.0]]),
        target=jnp.array([1.0, 2.0]),
        weight=jnp.array([1.0, 0.5]),
    )

    np.testing.assert_array_equal(q, [[2.0, 0.0], [1.0, -1.0]])
    # Squared errors: (1 + 0) / 2 for the first sample, (4 + 9) / 2 for the second, at half weight.
    assert loss == pytest.approx((0.5 + 0.5 * 6.5) / 2)


def test_loss_is_weighted_and_summed_over_the_ensemble() -> None:
    case = make_case()

    loss, q = critic_loss(case.critic, *case.arguments)

    expected = values(case.critic, case.observation, case.action)
    squares = ((expected - case.target) ** 2).sum(axis=0) / 2
    np.testing.assert_allclose(q, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(loss, (case.weight * squares).mean(), rtol=1e-4)


def test_step_follows_the_slope_of_the_loss() -> None:
    case = make_case()
    q = values(case.critic, case.observation, case.action)

    critic, _, _, _ = update_critic(case.critic, SGD, SGD.init(case.critic), *case.arguments)

    # The last bias of each critic: dJ/db = mean of weight * (Q - target).
    slope = (case.weight * (q - case.target)).mean(axis=1)
    before = np.asarray(case.critic.network.layers[-1].bias)[:, 0, 0]
    after = np.asarray(critic.network.layers[-1].bias)[:, 0, 0]
    np.testing.assert_allclose(after - before, -0.1 * slope, rtol=1e-3, atol=1e-6)


def test_samples_of_weight_zero_teach_nothing() -> None:
    case = make_case()
    weight = np.where(np.arange(7) < 4, 1.0, 0.0)
    spoilt = np.where(np.arange(7) < 4, case.target, 1e3)

    one, _, _, _ = update_critic(
        case.critic, SGD, SGD.init(case.critic), *case._replace(weight=weight).arguments
    )
    other, _, _, _ = update_critic(
        case.critic,
        SGD,
        SGD.init(case.critic),
        *case._replace(weight=weight, target=spoilt).arguments,
    )

    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_td_error_is_the_mean_size_of_the_error_and_takes_no_weight() -> None:
    case = make_case()
    q = values(case.critic, case.observation, case.action)

    _, _, td_error, info = update_critic(case.critic, SGD, SGD.init(case.critic), *case.arguments)

    np.testing.assert_allclose(td_error, np.abs(q - case.target).mean(axis=0), rtol=1e-3)
    assert set(info) == {"critic_loss", "q_mean", "target_mean"}
    np.testing.assert_allclose(info["q_mean"], q.mean(), rtol=1e-3)
    np.testing.assert_allclose(info["target_mean"], case.target.mean(), rtol=1e-4)
    np.testing.assert_allclose(
        info["critic_loss"],
        (case.weight * ((q - case.target) ** 2).sum(axis=0) / 2).mean(),
        rtol=1e-4,
    )
