from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from woodshed.connectors import (
    Statistics,
    init_statistics,
    statistics_from_arrays,
    statistics_to_arrays,
    to_scale,
    update_statistics,
)
from woodshed.errors import WoodshedError


def box(*shape: int, dtype: Any = np.float32) -> spaces.Box:
    high = 255 if dtype == np.uint8 else 100
    return spaces.Box(0, high, shape, dtype)


GOALS = spaces.Dict(
    {"observation": box(3), "achieved_goal": box(2), "desired_goal": box(2, dtype=np.float64)}
)


def goals(rng: np.random.Generator, lanes: int) -> dict[str, Any]:
    return {
        "observation": rng.normal(5, 2, (lanes, 3)).astype(np.float32),
        "achieved_goal": rng.normal(-1, 3, (lanes, 2)),
        "desired_goal": rng.normal(4, 1, (lanes, 2)),
    }


def test_three_numbers() -> None:
    statistics = init_statistics(box(1))
    for value in ([1.0], [2.0], [6.0]):
        statistics = update_statistics(statistics, np.array([value]))
    assert statistics.count == 3
    np.testing.assert_allclose(statistics.mean[""], [3])
    np.testing.assert_allclose(statistics.square[""], [14 / 3])  # (4 + 1 + 9) / 3


@given(
    split=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    offset=st.sampled_from([0.0, -20.0, 1e4]),
    seed=st.integers(0, 1000),
)
def test_any_split_gives_mean_and_std_of_the_whole(
    split: list[int], offset: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    batches = [rng.normal(offset, 3, (lanes, 2, 2)) for lanes in split]
    statistics = init_statistics(box(2, 2))
    for batch in batches:
        statistics = update_statistics(statistics, batch)
    whole = np.concatenate(batches)
    assert statistics.count == len(whole)
    np.testing.assert_allclose(statistics.mean[""], whole.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(statistics.square[""]), whole.std(axis=0), rtol=1e-9)


def test_goals_are_pooled() -> None:
    rng = np.random.default_rng(0)
    batches = [goals(rng, lanes) for lanes in (3, 1, 8)]
    statistics = init_statistics(GOALS)
    for batch in batches:
        statistics = update_statistics(statistics, batch)
    assert statistics.count == 12
    pool = np.concatenate([b[key] for b in batches for key in ("achieved_goal", "desired_goal")])
    assert pool.shape == (24, 2)
    for key in ("achieved_goal", "desired_goal"):
        np.testing.assert_allclose(statistics.mean[key], pool.mean(axis=0))
        np.testing.assert_allclose(np.sqrt(statistics.square[key]), pool.std(axis=0))
    seen = np.concatenate([batch["observation"] for batch in batches]).astype(np.float64)
    np.testing.assert_allclose(statistics.mean["observation"], seen.mean(axis=0))
    np.testing.assert_allclose(np.sqrt(statistics.square["observation"]), seen.std(axis=0))


def test_nested_goals_are_pooled_part_by_part() -> None:
    parts = spaces.Dict({"place": box(2), "angle": box(1)})
    space = spaces.Dict({"achieved_goal": parts, "desired_goal": parts})
    batch = {
        "achieved_goal": {"place": np.full((1, 2), 1.0), "angle": np.full((1, 1), 10.0)},
        "desired_goal": {"place": np.full((1, 2), 3.0), "angle": np.full((1, 1), 30.0)},
    }
    statistics = update_statistics(init_statistics(space), batch)
    assert {name: mean.tolist() for name, mean in statistics.mean.items()} == {
        "achieved_goal/place": [2, 2],
        "achieved_goal/angle": [20],
        "desired_goal/place": [2, 2],
        "desired_goal/angle": [20],
    }


@pytest.mark.parametrize(
    "space",
    [
        {"achieved_goal": box(2), "desired_goal": box(1)},
        {"achieved_goal": spaces.MultiBinary(1), "desired_goal": box(1)},
        {"achieved": box(1), "desired_goal": box(1)},
    ],
)
def test_goals_that_are_not_alike_are_not_pooled(space: Any) -> None:
    batch = {key: np.full((4, *leaf.shape), 8) for key, leaf in space.items()}
    batch["desired_goal"] = np.full((4, 1), 2.0)
    statistics = update_statistics(init_statistics(spaces.Dict(space)), batch)
    assert statistics.mean["desired_goal"].tolist() == [2]


def test_masked_lanes_are_not_counted() -> None:
    batch = np.array([[1.0], [np.nan], [3.0]])
    mask = np.array([True, False, True])
    statistics = update_statistics(init_statistics(box(1)), batch, mask)
    assert statistics.count == 2
    assert statistics.mean[""].tolist() == [2]
    assert statistics.square[""].tolist() == [1]


@pytest.mark.parametrize("seen", [0, 5])
def test_no_lane_changes_nothing(seen: int) -> None:
    before = init_statistics(GOALS)
    rng = np.random.default_rng(0)
    if seen:
        before = update_statistics(before, goals(rng, seen))
    after = update_statistics(before, goals(rng, 4), np.zeros(4, np.bool_))
    assert after is before


def test_an_update_leaves_the_statistics_before_it_alone() -> None:
    rng = np.random.default_rng(0)
    before = update_statistics(init_statistics(GOALS), goals(rng, 4))
    arrays = {name: array.copy() for name, array in statistics_to_arrays(before).items()}
    update_statistics(before, goals(rng, 4))
    for name, array in statistics_to_arrays(before).items():
        np.testing.assert_array_equal(array, arrays[name])


def test_only_boxes_of_numbers_other_than_bytes_are_counted() -> None:
    space = spaces.Dict(
        {
            "camera": box(4, 4, 3, dtype=np.uint8),
            "kind": spaces.Discrete(3),
            "flags": spaces.MultiBinary(2),
            "levels": spaces.MultiDiscrete([2, 3]),
            "steps": spaces.Box(0, 9, (1,), np.int32),
            "speed": box(dtype=np.float64),
        }
    )
    statistics = init_statistics(space)
    assert {name: mean.shape for name, mean in statistics.mean.items()} == {
        "steps": (1,),
        "speed": (),
    }
    batch: Any = {key: np.array([leaf.sample()] * 2) for key, leaf in space.items()}
    batch |= {"steps": np.array([[1], [1]]), "speed": np.ones(2)}
    batch["steps"][1] = 3
    updated = update_statistics(statistics, batch)
    assert updated.mean["steps"].tolist() == [2]
    assert updated.mean["speed"] == 1


def test_all_moments_are_float64_arrays() -> None:
    space = spaces.Dict({**GOALS.spaces, "speed": box()})
    batch = goals(np.random.default_rng(0), 3) | {"speed": np.ones(3, np.float32)}
    statistics = update_statistics(init_statistics(space), batch)
    assert statistics.mean["speed"].shape == ()
    for array in statistics_to_arrays(statistics).values():
        assert isinstance(array, np.ndarray)
        assert array.dtype == np.float64


def test_large_offsets_do_not_eat_the_variance() -> None:
    statistics = init_statistics(box(1))
    for value in (1e8, 1e8 + 2) * 50:
        statistics = update_statistics(statistics, np.array([[value]]))
    np.testing.assert_allclose(statistics.square[""], [1], rtol=1e-6)


def test_the_scale_divides_by_the_std() -> None:
    statistics = Statistics(
        np.array(2.0), {"": np.array([1.0, 2, 3])}, {"": np.array([4.0, 1e-3**2, 0])}
    )
    scale = to_scale(statistics)
    assert scale.mean[""].tolist() == [1, 2, 3]
    # The second feature and the third hardly vary: they are divided by 0.01.
    np.testing.assert_allclose(scale.inverse_std[""], [0.5, 100, 100], rtol=1e-6)
    assert scale.mean[""].dtype == np.float32
    assert scale.inverse_std[""].dtype == np.float32


@pytest.mark.parametrize("seen", [0, 1])
def test_before_two_observations_nothing_is_divided(seen: int) -> None:
    statistics = init_statistics(box(2))
    if seen:
        statistics = update_statistics(statistics, np.array([[7.0, 8.0]]))
    assert to_scale(statistics).inverse_std[""].tolist() == [1, 1]


def test_saved_and_loaded_statistics_are_the_same() -> None:
    statistics = update_statistics(init_statistics(GOALS), goals(np.random.default_rng(0), 3))
    arrays = statistics_to_arrays(statistics)
    assert sorted(arrays) == [
        "count",
        "mean/achieved_goal",
        "mean/desired_goal",
        "mean/observation",
        "square/achieved_goal",
        "square/desired_goal",
        "square/observation",
    ]
    loaded = statistics_from_arrays(arrays, GOALS)
    for name, array in statistics_to_arrays(loaded).items():
        np.testing.assert_array_equal(array, arrays[name])
        assert not np.shares_memory(array, arrays[name])
    assert loaded.count == 3


@pytest.mark.parametrize("change", ["missing", "more", "shape"])
def test_statistics_of_another_space_are_refused(change: str) -> None:
    arrays = dict(statistics_to_arrays(init_statistics(GOALS)))
    if change == "missing":
        del arrays["mean/observation"]
    elif change == "more":
        arrays["mean/camera"] = np.zeros(3)
    else:
        arrays["square/observation"] = np.zeros(4)
    with pytest.raises(WoodshedError, match="belong to another observation space"):
        statistics_from_arrays(arrays, GOALS)
