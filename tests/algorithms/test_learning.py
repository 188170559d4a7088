"""SAC finds the optimum of a problem whose optimum is known."""

import jax
import numpy as np
from numpy.typing import NDArray

from woodshed.algorithms import SAC
from woodshed.learner import make_act, make_update
from woodshed.replay import Batch

# A point x is moved by 0.5 a; the reward of a step is -(x^2 + 0.5 a^2).
PUSH, COST, GAMMA = 0.5, 0.5, 0.9
K, B = 50, 128


def optimal_cost() -> float:
    """P of the least discounted cost P x^2, by the Riccati recursion."""
    p = 0.0
    for _ in range(1000):
        gain = GAMMA * p * PUSH / (COST + GAMMA * p * PUSH**2)
        p = 1 + COST * gain**2 + GAMMA * p * (1 - PUSH * gain) ** 2
    return p


def sample(rng: np.random.Generator) -> Batch:
    """Random points and actions: off policy."""
    x = rng.uniform(-1.5, 1.5, (K, B, 1)).astype(np.float32)
    action = rng.uniform(-1, 1, (K, B, 1)).astype(np.float32)
    after = x + PUSH * action

    def filled(value: float) -> NDArray[np.float32]:
        return np.full((K, B), value, np.float32)

    return Batch(
        observation=x,
        action=action,
        reward=-(x**2 + COST * action**2)[..., 0],
        discount=filled(GAMMA),
        next_observation=after,
        weight=filled(1),
        handle=np.zeros((K, B), np.int64),
        steps=np.ones((K, B), np.int32),
        relabelled=np.zeros((K, B), np.bool_),
    )


def test_sac_finds_the_linear_quadratic_regulator() -> None:
    algorithm = SAC(hidden=(32, 32), learning_rate=3e-3, target_rate=0.02, target_entropy=-2.0)
    update = make_update(algorithm, lambda observation, scale: observation)
    act = make_act(algorithm, lambda observation, scale: observation)
    state = algorithm.init(jax.random.key(0), 1, 1)
    rng = np.random.default_rng(0)

    for _ in range(60):
        state, metrics, _ = update(state, None, sample(rng))

    start = np.linspace(-1, 1, 21)[:, None]
    x, cost = start, np.zeros(21)
    for step in range(100):
        action = np.asarray(act(state.actor, None, x, jax.random.key(0), explore=False))
        cost += GAMMA**step * (x**2 + COST * action**2)[:, 0]
        x = x + PUSH * action
    least = optimal_cost() * start[:, 0] ** 2
    # Doing nothing costs 10 x^2, the best policy 1.93 x^2.
    assert 0.999 * least.mean() <= cost.mean() < 1.12 * least.mean()
    np.testing.assert_allclose(metrics["entropy"], -2.0, atol=0.2)
    np.testing.assert_allclose(metrics["q_mean"], metrics["target_mean"], atol=0.05)
