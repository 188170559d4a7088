from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from woodshed.connectors import (
    Scale,
    default_policy_keys,
    init_statistics,
    make_encoder,
    to_scale,
    update_statistics,
)
from woodshed.errors import WoodshedError

INF = np.inf
VECTOR = spaces.Box(-INF, INF, (2,), np.float32)
GOALS = spaces.Dict({"observation": VECTOR, "achieved_goal": VECTOR, "desired_goal": VECTOR})
MIXED = spaces.Dict(
    {
        "a": spaces.Box(-INF, INF, (2, 2), np.float64),
        "b": spaces.Dict(
            {"x": spaces.Box(-INF, INF, (), np.float32), "y": spaces.Discrete(3, start=1)}
        ),
        "c": spaces.MultiDiscrete([2, 3], start=[0, 5]),
        "d": spaces.MultiBinary(2),
        "e": spaces.Box(0, 255, (2,), np.uint8),
    }
)
MIXED_BATCH = {
    "a": np.array([[[1, 2], [3, 40]], [[5, 6], [7, 8]]], np.float64),
    "b": {"x": np.array([9, -10], np.float32), "y": np.array([1, 3])},
    "c": np.array([[0, 7], [1, 5]]),
    "d": np.array([[1, 0], [1, 1]], np.int8),
    "e": np.array([[0, 255], [51, 102]], np.uint8),
}
MIXED_ROWS = [
    [1, 2, 3, 40, 9, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0.0, 1.0],
    [5, 6, 7, 8, -10, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0.2, 0.4],
]


def test_default_policy_keys() -> None:
    assert default_policy_keys(GOALS) == ("observation", "desired_goal")
    more = spaces.Dict({**GOALS.spaces, "camera": VECTOR})
    assert default_policy_keys(more) == ("observation", "desired_goal")
    assert default_policy_keys(MIXED) == ("a", "b", "c", "d", "e")
    assert default_policy_keys(VECTOR) == ()
    assert default_policy_keys(spaces.Dict({"achieved_goal": VECTOR, "desired_goal": VECTOR})) == (
        "achieved_goal",
        "desired_goal",
    )


def test_an_array_is_seen_itself() -> None:
    encoder = make_encoder(VECTOR)
    assert encoder.size == 2
    got = encoder(np.array([[1, 2], [30, -40]], np.float64), None)
    assert got.dtype == np.float32
    assert got.tolist() == [[1, 2], [30, -40]]


def test_normalised_then_clipped() -> None:
    scale = Scale({"": np.array([1, 0], np.float32)}, {"": np.array([2, 0.1], np.float32)})
    got = make_encoder(VECTOR, clip=3)(np.array([[2, 10], [4, -31]], np.float32), scale)
    np.testing.assert_allclose(got, [[2, 1], [3, -3]])


def test_goals_in_the_order_of_the_keys() -> None:
    batch = {
        "observation": np.array([[1, 2]], np.float32),
        "achieved_goal": np.array([[3, 4]], np.float32),
        "desired_goal": np.array([[5, 6]], np.float32),
    }
    assert make_encoder(GOALS)(batch, None).tolist() == [[1, 2, 5, 6]]
    swapped = make_encoder(GOALS, ("achieved_goal", "observation"))
    assert swapped(batch, None).tolist() == [[3, 4, 1, 2]]


def test_every_kind_of_leaf() -> None:
    encoder = make_encoder(MIXED)
    assert encoder.size == 17
    got = encoder(MIXED_BATCH, None)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, MIXED_ROWS, rtol=1e-6)


def test_only_boxes_that_have_statistics_are_normalised_and_clipped() -> None:
    scale = Scale(
        {"a": np.full((2, 2), 1, np.float32), "b/x": np.float32(9)},  # type: ignore[dict-item]
        {"a": np.full((2, 2), 0.5, np.float32), "b/x": np.float32(1)},  # type: ignore[dict-item]
    )
    got = make_encoder(MIXED, clip=5)(MIXED_BATCH, scale)
    expected = np.array(MIXED_ROWS)
    expected[:, :5] = [[0, 0.5, 1, 5, 0], [2, 2.5, 3, 3.5, -5]]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_key_takes_all_below_it_and_a_path_takes_one_leaf() -> None:
    assert make_encoder(MIXED, ("b",))(MIXED_BATCH, None).tolist() == [[9, 1, 0, 0], [-10, 0, 0, 1]]
    assert make_encoder(MIXED, ("b/x",))(MIXED_BATCH, None).tolist() == [[9], [-10]]


def test_statistics_of_the_same_space_make_the_scale() -> None:
    rng = np.random.default_rng(0)
    batch = {key: rng.normal(50, 7, (4000, 2)).astype(np.float32) for key in GOALS.spaces}
    scale = to_scale(update_statistics(init_statistics(GOALS), batch))
    got = make_encoder(GOALS)(batch, scale)
    assert got.shape == (4000, 4)
    np.testing.assert_allclose(got.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(got.std(axis=0), 1, atol=0.05)


@pytest.mark.parametrize("normalise", [False, True])
def test_jit_gives_what_numpy_gives(normalise: bool) -> None:
    statistics = update_statistics(init_statistics(MIXED), MIXED_BATCH)
    scale = to_scale(statistics) if normalise else None
    encoder = make_encoder(MIXED)
    ours = encoder(MIXED_BATCH, scale)
    assert isinstance(ours, np.ndarray)
    compiled = jax.jit(encoder)(MIXED_BATCH, scale)
    eager = encoder(jax.tree.map(jnp.asarray, MIXED_BATCH), scale)
    for theirs in (compiled, eager):
        assert isinstance(theirs, jax.Array)
        assert theirs.dtype == jnp.float32
        np.testing.assert_allclose(theirs, ours, rtol=1e-6)


def test_an_empty_batch() -> None:
    assert make_encoder(MIXED)(jax.tree.map(lambda leaf: leaf[:0], MIXED_BATCH), None).shape == (
        0,
        17,
    )


def test_a_jax_scale_with_a_numpy_observation() -> None:
    scale = Scale({"": jnp.ones(2)}, {"": jnp.full(2, 2.0)})  # type: ignore[dict-item]
    got = make_encoder(VECTOR)(np.array([[2, 3]], np.float32), scale)
    assert got.tolist() == [[2, 4]]


def test_the_scale_is_an_argument_and_not_compiled_in() -> None:
    encoder = make_encoder(VECTOR)
    traced = []

    @jax.jit
    def encode(observation: Any, scale: Scale) -> Any:
        traced.append(1)
        return encoder(observation, scale)

    observation = np.array([[4.0, 4.0]], np.float32)
    for mean in (1, 2):
        scale = Scale({"": np.full(2, mean, np.float32)}, {"": np.ones(2, np.float32)})
        assert encode(observation, scale).tolist() == [[4 - mean, 4 - mean]]
    assert len(traced) == 1


def test_an_encoder_can_be_a_static_argument() -> None:
    assert make_encoder(MIXED) == make_encoder(MIXED)
    assert hash(make_encoder(MIXED)) == hash(make_encoder(MIXED))
    assert make_encoder(MIXED) != make_encoder(MIXED, clip=4)


def test_acting_on_float64_equals_learning_on_the_stored_float32() -> None:
    value = np.array([[0.1 + 1e-12, 1e6 + 0.013]])
    scale = Scale({"": np.array([0.1, 1e6], np.float32)}, {"": np.full(2, 100, np.float32)})
    encoder = make_encoder(spaces.Box(-INF, INF, (2,), np.float64))
    np.testing.assert_array_equal(encoder(value, scale), encoder(value.astype(np.float32), scale))


def test_an_image_is_refused_unless_left_out() -> None:
    space = spaces.Dict({"camera": spaces.Box(0, 255, (8, 8, 3), np.uint8), "state": VECTOR})
    with pytest.raises(WoodshedError, match=r"'camera' is an image .*no image encoder yet"):
        make_encoder(space)
    with pytest.raises(WoodshedError, match="the observation is an image"):
        make_encoder(space["camera"])
    assert make_encoder(space, ("state",)).size == 2


def test_a_leaf_without_an_encoding_is_refused() -> None:
    space = spaces.Dict({"word": spaces.Text(3), "state": VECTOR})
    with pytest.raises(WoodshedError, match="'word' has the space Text"):
        make_encoder(space)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("speed",), "no key 'speed' for the policy; it has achieved_goal, desired_goal, observ"),
        (("desired",), "no key 'desired'"),
        (("observation", "observation"), "once at most"),
        ((), "at least one"),
        ("observation", "a list of names, got the one string 'observation'"),
    ],
)
def test_wrong_keys_are_refused(keys: Any, message: str) -> None:
    with pytest.raises(WoodshedError, match=message):
        make_encoder(GOALS, keys)


def test_keys_for_an_observation_that_is_no_dict_are_refused() -> None:
    with pytest.raises(WoodshedError, match="the observation is no Dict"):
        make_encoder(VECTOR, ("observation",))
    assert make_encoder(VECTOR, ()).size == 2


@pytest.mark.parametrize("clip", [0, -1, float("nan")])
def test_a_clip_that_lets_nothing_through_is_refused(clip: float) -> None:
    with pytest.raises(WoodshedError, match="clip must be above 0"):
        make_encoder(VECTOR, clip=clip)
