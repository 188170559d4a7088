from typing import Any

import jax
import numpy as np
import pytest
from tests.algorithms.batches import assert_differ, assert_equal
from tests.learner.sampled import A, D, encode, make_batches

from woodshed.algorithms import SAC
from woodshed.learner import make_act

ALGORITHM = SAC(hidden=(8, 6))
SCALE = np.float32(0.5)
KEY = jax.random.key(7)
ACTOR = ALGORITHM.init(jax.random.key(0), D, A).actor
OBSERVATION = jax.tree.map(lambda leaf: leaf[0, :4], make_batches(K=1).observation)

act = make_act(ALGORITHM, encode)


@pytest.mark.parametrize("explore", [False, True])
def test_it_acts_on_the_encoded_observation(explore: bool) -> None:
    action = act(ACTOR, SCALE, OBSERVATION, KEY, 5, explore=explore)

    expected = ALGORITHM.act(
        ACTOR, encode(OBSERVATION, SCALE), jax.random.fold_in(KEY, 5), explore=explore
    )
    assert action.shape == (4, A)
    np.testing.assert_allclose(action, expected, rtol=1e-5, atol=1e-6)
    assert np.abs(action).max() <= 1


def test_each_draw_explores_in_its_own_way_and_can_be_had_again() -> None:
    first = act(ACTOR, SCALE, OBSERVATION, KEY, 1, explore=True)

    assert_equal(first, act(ACTOR, SCALE, OBSERVATION, KEY, 1, explore=True))
    assert_differ(first, act(ACTOR, SCALE, OBSERVATION, KEY, 2, explore=True))
    assert_differ(first, act(ACTOR, SCALE, OBSERVATION, jax.random.key(8), 1, explore=True))


def test_without_exploring_key_and_draw_do_not_matter() -> None:
    assert_equal(
        act(ACTOR, SCALE, OBSERVATION, KEY, 1, explore=False),
        act(ACTOR, SCALE, OBSERVATION, jax.random.key(8), 2, explore=False),
    )


def test_draws_weights_and_scales_do_not_compile_anew() -> None:
    traced = []

    def counting_encode(observation: Any, scale: Any) -> Any:
        traced.append(1)
        return encode(observation, scale)

    act = make_act(ALGORITHM, counting_encode)
    for draw in range(5):
        actor = ALGORITHM.init(jax.random.key(draw), D, A).actor
        act(actor, np.float32(draw), OBSERVATION, KEY, draw, explore=True)

    assert len(traced) == 1
