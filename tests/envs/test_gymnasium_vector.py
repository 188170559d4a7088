from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from tests.envs.toys import Counting

from woodshed.envs import GymnasiumVector, SeededEpisodes, episode_seed
from woodshed.errors import WoodshedError

NO_ACTION = np.zeros((2, 1), np.float32)
MODES = list(AutoresetMode)


def counting_vector(mode: AutoresetMode, *info_keys: str, **settings: Any) -> GymnasiumVector:
    makes: list[Callable[[], Counting]] = [partial(Counting, (2, 3)), partial(Counting, (4,))]
    return GymnasiumVector(SyncVectorEnv(makes, autoreset_mode=mode, **settings), info_keys)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_the_reset_is_in_the_same_step(mode: AutoresetMode) -> None:
    vector = counting_vector(mode, "level")
    np.testing.assert_array_equal(vector.reset(), [[0, 0], [0, 0]])
    steps: list[Any] = [vector.step(NO_ACTION) for _ in range(5)]
    nexts = [step.next_observation.tolist() for step in steps]
    assert nexts == [
        [[0, 1], [0, 1]],
        [[0, 2], [0, 2]],
        [[1, 1], [0, 3]],
        [[1, 2], [0, 4]],
        [[1, 3], [1, 1]],
    ]
    acted_on = [step.observation.tolist() for step in steps]
    assert acted_on == [
        [[0, 1], [0, 1]],
        [[1, 0], [0, 2]],
        [[1, 1], [0, 3]],
        [[1, 2], [1, 0]],
        [[2, 0], [1, 1]],
    ]
    levels = [step.info["level"].tolist() for step in steps]
    assert levels == [[1, 1], [2, 2], [11, 3], [12, 4], [13, 11]]
    assert [step.success.tolist() for step in steps] == [[0, 0], [1, 0], [0, 0], [0, 1], [1, 0]]
    assert all(step.stepped.all() for step in steps)


def test_the_reset_is_the_next_step() -> None:
    vector = counting_vector(AutoresetMode.NEXT_STEP, "level", "only_steps")
    vector.reset()
    steps: list[Any] = [vector.step(NO_ACTION) for _ in range(5)]
    assert [step.stepped.tolist() for step in steps] == [
        [True, True],
        [True, True],
        [False, True],
        [True, True],
        [True, False],
    ]
    acted_on = [step.observation.tolist() for step in steps]
    assert acted_on == [
        [[0, 1], [0, 1]],
        [[0, 2], [0, 2]],
        [[1, 0], [0, 3]],
        [[1, 1], [0, 4]],
        [[1, 2], [1, 0]],
    ]
    assert [step.info["level"].tolist() for step in steps] == [
        [1, 1],
        [2, 2],
        [0, 3],
        [11, 4],
        [12, 0],
    ]
    assert [step.info["only_steps"].tolist() for step in steps][2:] == [[0, 3], [1, 4], [2, 0]]
    np.testing.assert_equal(
        np.array([step.success for step in steps]),
        [[0, 0], [1, 0], [np.nan, 0], [0, 1], [0, np.nan]],
    )


def test_all_lanes_reset_in_one_step_that_gives_no_info() -> None:
    envs = [partial(Counting, (1,))] * 2
    vector = GymnasiumVector(SyncVectorEnv(envs), ("only_steps",))
    vector.reset()
    vector.step(NO_ACTION)
    step = vector.step(NO_ACTION)
    assert step.stepped.tolist() == [False, False]
    assert step.info["only_steps"].tolist() == [0, 0]
    assert step.info["only_steps"].dtype == np.int64


@pytest.mark.parametrize("mode", MODES)
def test_a_reset_may_give_an_info_key_in_another_shape(mode: AutoresetMode) -> None:
    class Shaped(Counting):
        def reset(self, **_: Any) -> Any:
            return super().reset()[0], {"only_steps": np.zeros(3)}

    lanes: list[Callable[[], Counting]] = [partial(Shaped, (1,)), partial(Shaped, (1,))]
    vector = GymnasiumVector(SyncVectorEnv(lanes, autoreset_mode=mode), ("only_steps",))
    vector.reset()
    steps = [vector.step(NO_ACTION) for _ in range(3)]
    assert steps[2].stepped.all()
    assert [step.info["only_steps"].tolist() for step in steps if step.stepped.all()][-1] == [1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_returned_arrays_are_the_callers_own(mode: AutoresetMode) -> None:
    vector = counting_vector(mode, "level", copy=False)
    first: Any = vector.reset()
    one: Any = vector.step(NO_ACTION)
    arrays: list[Any] = [first, one.next_observation, one.observation, one.reward]
    arrays += [one.info["level"], one.success]
    before = [array.copy() for array in arrays]
    vector.step(NO_ACTION)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    arrays[2][:] = 99
    np.testing.assert_array_equal(arrays[1], before[1])


@pytest.mark.parametrize("mode", MODES)
def test_seeds_and_options_that_the_environments_get(mode: AutoresetMode) -> None:
    made: list[Counting] = []

    def make(lane: int) -> gymnasium.Env[Any, Any]:
        made.append(Counting((1,)))
        return SeededEpisodes(made[-1], 3, lane)

    vector = GymnasiumVector(
        SyncVectorEnv([partial(make, 0), partial(make, 1)], autoreset_mode=mode)
    )
    vector.reset()
    vector.step(NO_ACTION)
    vector.step(NO_ACTION)
    for lane, env in enumerate(made):
        assert env.seeds[:2] == [episode_seed(3, lane, 0), episode_seed(3, lane, 1)]
        assert set(map(str, env.options)) == {"None"}


def test_the_seed_is_given_to_the_first_reset_alone() -> None:
    made: list[Counting] = []

    def make() -> Counting:
        made.append(Counting((1,)))
        return made[-1]

    vector = GymnasiumVector(SyncVectorEnv([make, make]), seed=40)
    vector.reset()
    vector.reset()
    assert [env.seeds for env in made] == [[40, None], [41, None]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("step", [1, 2])
def test_a_missing_info_key_is_named_with_those_there(mode: AutoresetMode, step: int) -> None:
    class Forgetful(Counting):
        def step(self, action: Any) -> Any:
            *rest, info = super().step(action)
            return *rest, info | ({"weight": 1.0} if self.time < step else {})

    lanes: list[Callable[[], Counting]] = [
        partial(Counting, (5,), "weight"),
        partial(Forgetful, (2,)),
    ]
    vector = GymnasiumVector(SyncVectorEnv(lanes, autoreset_mode=mode), ("weight",))
    vector.reset()
    for _ in range(step - 1):
        vector.step(NO_ACTION)
    with pytest.raises(
        WoodshedError, match=r"environment 1 gave no info key 'weight' .* 'level', 'only_steps'"
    ):
        vector.step(NO_ACTION)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", ["text", {"a": 1}])
def test_info_that_is_not_numbers_is_refused(mode: AutoresetMode, value: Any) -> None:
    class Telling(Counting):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:4], {"word": value, "success": value}

    lanes = [partial(Telling, (5,)), partial(Telling, (1,))]
    silent = GymnasiumVector(SyncVectorEnv(lanes, autoreset_mode=mode))
    silent.reset()
    np.testing.assert_equal(silent.step(NO_ACTION).success, [np.nan, np.nan])
    asked = GymnasiumVector(SyncVectorEnv(lanes, autoreset_mode=mode), ("word",))
    asked.reset()
    with pytest.raises(WoodshedError, match="info key 'word' must hold numbers"):
        asked.step(NO_ACTION)


@pytest.mark.parametrize("shared", [True, False])
def test_a_reset_just_after_an_end(shared: bool) -> None:
    """Stands on AsyncVectorEnv's attribute; its worker's own behaviour is Gymnasium's to test."""
    env = SyncVectorEnv([partial(Counting, (2,))])
    env.shared_memory = shared  # type: ignore[attr-defined]
    vector = GymnasiumVector(env)
    vector.reset()
    vector.step(NO_ACTION[:1])
    vector.reset()  # in the midst of an episode it is no matter
    vector.step(NO_ACTION[:1])
    vector.step(NO_ACTION[:1])
    if shared:
        np.testing.assert_array_equal(vector.reset(), [[2, 0]])
        assert vector.step(NO_ACTION[:1]).stepped.tolist() == [True]
    else:
        with pytest.raises(WoodshedError, match="just after an episode's end"):
            vector.reset()


def test_a_vector_environment_without_a_mode_is_refused() -> None:
    env = SyncVectorEnv([Counting])
    env.metadata = {}
    with pytest.raises(WoodshedError, match=r"metadata\['autoreset_mode'\] is None"):
        GymnasiumVector(env)


def test_a_space_that_cannot_be_stacked_is_refused() -> None:
    env = SyncVectorEnv([Counting])
    env.single_observation_space = spaces.Tuple([spaces.Discrete(2)])
    with pytest.raises(WoodshedError, match="observation has the space Tuple"):
        GymnasiumVector(env)


def test_gymnasiums_own_vectorised_cart_pole() -> None:
    env = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="vector_entry_point")
    vector = GymnasiumVector(env, seed=0)
    observation: Any = vector.reset()
    for _ in range(60):  # pushed one way the pole falls within a dozen steps
        step: Any = vector.step(np.zeros(3, np.int64))
        assert step.next_observation.shape == (3, 4)
        assert np.isnan(step.success).all()
        for lane in np.flatnonzero(~step.stepped):
            assert abs(step.observation[lane]).max() <= 0.05
            assert step.reward[lane] == 0
        observation = step.observation
    assert observation.shape == (3, 4)
    vector.close()


class Batched(VectorEnv[Any, Any, Any]):
    """Vectorised itself: lane i ends every i + 1 steps; no masks, final_obs is a batch."""

    def __init__(self, with_final: bool = True) -> None:
        self.num_envs = 2
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = spaces.Dict({"t": spaces.Box(0, 9, (1,), np.float32)})
        self.single_action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.with_final = with_final
        self.t = np.zeros((2, 1), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.t[:] = 0
        return {"t": self.t}, {}

    def step(self, actions: Any) -> Any:
        self.t += 1
        final = self.t.copy()
        over = final[:, 0] == [1, 2]
        self.t[over] = 0
        info: dict[str, Any] = {"is_success": over, "time": final[:, 0], "level": 4}
        if self.with_final:
            info |= {"final_obs": {"t": final}, "final_info": dict(info)}
        return {"t": self.t}, final[:, 0], over, np.zeros(2, bool), info


def test_a_batched_final_observation_and_info_without_masks() -> None:
    vector = GymnasiumVector(Batched(), ("time", "level"))
    vector.reset()
    steps: list[Any] = [vector.step(NO_ACTION) for _ in range(2)]
    assert [s.next_observation["t"].tolist() for s in steps] == [[[1], [1]], [[1], [2]]]
    assert [s.observation["t"].tolist() for s in steps] == [[[0], [1]], [[0], [0]]]
    assert [s.info["time"].tolist() for s in steps] == [[1, 1], [1, 2]]
    assert [s.info["level"].tolist() for s in steps] == [[4, 4], [4, 4]]
    assert [s.success.tolist() for s in steps] == [[1, 0], [1, 1]]


def test_a_lost_final_observation_is_an_error() -> None:
    vector = GymnasiumVector(Batched(with_final=False))
    vector.reset()
    with pytest.raises(WoodshedError, match="no 'final_obs'"):
        vector.step(NO_ACTION)


def test_sent_actions_are_a_copy_and_are_received_once() -> None:
    vector = counting_vector(AutoresetMode.SAME_STEP)
    vector.reset()
    vector.send(NO_ACTION)
    with pytest.raises(WoodshedError, match="cannot send before what was sent is received"):
        vector.send(NO_ACTION)
    step = vector.receive()
    assert step.stepped.all()
    assert not step.cut.any()
    assert step.failures == ()
    with pytest.raises(WoodshedError, match="there is nothing to receive"):
        vector.receive()
