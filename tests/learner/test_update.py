import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.algorithms.batches import assert_equal
from tests.learner.sampled import A, B, D, encode, make_batches

from woodshed.algorithms import SAC, SACState, Transitions
from woodshed.learner import make_update

ALGORITHM = SAC(hidden=(8, 6), learning_rate=1e-2)
SCALE = np.float32(0.5)
update = make_update(ALGORITHM, encode)


def init(seed: int = 0) -> SACState:
    return ALGORITHM.init(jax.random.key(seed), D, A)


def row(batches: Any, k: int) -> Any:
    """Update k's batch, with a leading axis of 1."""
    return jax.tree.map(lambda leaf: leaf[k : k + 1], batches)


def digest(tree: Any) -> str:
    """Names every bit of a tree's leaves."""
    return hashlib.sha256(
        b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(tree))
    ).hexdigest()


def test_k_updates_are_one_update_k_times() -> None:
    batches = make_batches(K=3)

    together, metrics, td_error = update(init(), SCALE, batches)
    state, singles, td_errors = init(), [], []
    for k in range(3):
        state, metric, error = update(state, SCALE, row(batches, k))
        singles.append(metric)
        td_errors.append(error)

    assert td_error.shape == (3, B)
    assert together.step == state.step == 3
    for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(td_error, np.concatenate(td_errors), rtol=1e-4, atol=1e-5)
    assert set(metrics) == set(singles[0])
    for name, value in metrics.items():
        expected = np.mean([float(single[name]) for single in singles])
        assert float(value) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_it_learns_from_the_encoded_transitions() -> None:
    batches = make_batches(K=1)
    encoded = Transitions(
        observation=encode(batches.observation, SCALE)[0],
        action=batches.action[0],
        reward=batches.reward[0],
        discount=batches.discount[0],
        next_observation=encode(batches.next_observation, SCALE)[0],
        weight=batches.weight[0],
    )

    state, metrics, td_error = update(init(), SCALE, batches)
    expected, expected_metrics, expected_error = jax.jit(ALGORITHM.update)(init(), encoded)

    for a, b in zip(
        jax.tree.leaves((state, metrics, td_error[0])),
        jax.tree.leaves((expected, expected_metrics, expected_error)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert state.critic.network.layers[0].weight.shape == (2, 8, D + A)


def test_the_scale_is_an_argument_not_a_constant() -> None:
    batches = make_batches(K=1)

    _, one, _ = update(init(), np.float32(0.5), batches)
    _, other, _ = update(init(), np.float32(2), batches)

    assert one["q_mean"] != other["q_mean"]


def test_the_old_state_is_given_away() -> None:
    state = init()

    update(state, SCALE, make_batches(K=1))

    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(state.critic))


def test_a_state_of_numpy_arrays_is_taken_and_left_as_it_was() -> None:
    restored = jax.tree.map(np.array, init())
    before = digest(restored)

    from_numpy, _, _ = update(restored, SCALE, make_batches(K=1))
    from_jax, _, _ = update(init(), SCALE, make_batches(K=1))

    assert_equal(from_numpy, from_jax)
    assert digest(restored) == before


def learn() -> str:
    """Learn a little, and name the outcome."""
    state = init(seed=3)
    for seed in range(3):
        state, metrics, td_error = update(state, SCALE, make_batches(3, seed))
    return digest((state, metrics, td_error))


def test_the_same_start_and_batches_give_the_same_bits_in_any_process() -> None:
    here = [learn(), learn()]
    code = "from tests.learner.test_update import learn; print(learn())"
    there = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert here == [there.stdout.strip()] * 2
