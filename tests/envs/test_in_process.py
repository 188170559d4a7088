from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Counting, Wandering

from woodshed.envs import InProcessVector, episode_seed
from woodshed.errors import WoodshedError

NO_ACTION = np.zeros((2, 1), np.float32)


def counting_vector(*info_keys: str) -> InProcessVector:
    return InProcessVector([lambda: Counting((2, 3)), lambda: Counting((4,))], 0, info_keys)


def test_steps_and_ends_of_two_lanes() -> None:
    vector = counting_vector("level")
    assert vector.n_envs == 2
    assert vector.observation_space == spaces.Box(0, 100, (2,), np.float32)
    assert vector.action_space == spaces.Box(-1, 1, (1,), np.float32)
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
    assert [step.reward.tolist() for step in steps] == [[1, 1], [2, 2], [1, 3], [2, 4], [3, 1]]
    terminated = [step.terminated.tolist() for step in steps]
    assert terminated == [[False, False], [True, False], [False, False], [False, True], [False] * 2]
    truncated = [step.truncated.tolist() for step in steps]
    assert truncated == [[False] * 2] * 4 + [[True, False]]
    levels = [step.info["level"].tolist() for step in steps]
    assert levels == [[1, 1], [2, 2], [11, 3], [12, 4], [13, 11]]
    success = [step.success.tolist() for step in steps]
    assert success == [[0, 0], [1, 0], [0, 0], [0, 1], [1, 0]]
    assert all(step.stepped.tolist() == [True, True] for step in steps)
    assert all(list(step.info) == ["level"] for step in steps)
    assert steps[0].reward.dtype == np.float64
    assert steps[0].next_observation.dtype == np.float32


def test_each_episode_gets_its_own_seed() -> None:
    vector = InProcessVector([lambda: Counting((1,))] * 2, run_seed=5, first_episodes=[0, 3])
    assert vector.episodes.tolist() == [-1, 2]
    vector.reset()
    vector.step(NO_ACTION)
    bases = [lane.unwrapped for lane in vector.environments]
    assert bases[0].seeds == [episode_seed(5, 0, 0), episode_seed(5, 0, 1)]  # type: ignore[attr-defined]
    assert bases[1].seeds == [episode_seed(5, 1, 3), episode_seed(5, 1, 4)]  # type: ignore[attr-defined]
    assert vector.episodes.tolist() == [1, 4]


def test_a_second_reset_begins_the_next_episode() -> None:
    vector = counting_vector()
    vector.reset()
    vector.step(NO_ACTION)
    np.testing.assert_array_equal(vector.reset(), [[1, 0], [1, 0]])


def test_returned_arrays_are_the_callers_own() -> None:
    vector = InProcessVector([Wandering], 0, ("pair",))
    action = np.zeros((1, 2), np.float32)
    first: Any = vector.reset()
    one: Any = vector.step(action)
    arrays: list[Any] = [
        first["position"],
        one.next_observation["position"],
        one.observation["position"],
    ]
    arrays += [one.info["pair"], one.reward, one.success]
    before = [array.copy() for array in arrays]
    vector.step(action)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    one.observation["position"][:] = 99
    np.testing.assert_array_equal(one.next_observation["position"], before[1])


def test_an_environment_cannot_change_the_callers_action() -> None:
    class Greedy(Counting):
        def step(self, action: Any) -> Any:
            action[:] = 9
            return super().step(action)

    vector = InProcessVector([Greedy, Greedy], 0)
    vector.reset()
    action = np.zeros((2, 1), np.float32)
    vector.step(action)
    assert action.tolist() == [[0], [0]]


def test_info_is_read_before_the_reset_overwrites_it() -> None:
    class Reusing(Counting):
        shared = np.zeros(1)

        def reset(self, **_: Any) -> Any:
            self.shared[:] = -1
            return super().reset()

        def step(self, action: Any) -> Any:
            *rest, info = super().step(action)
            self.shared[:] = info["level"]
            return *rest, info | {"shared": self.shared}

    vector = InProcessVector([lambda: Reusing((1,))], 0, ("shared",))
    vector.reset()
    assert vector.step(NO_ACTION[:1]).info["shared"].tolist() == [[1]]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"is_success": True}, 1.0),
        ({"is_success": np.float32(0.0), "success": True}, 0.0),
        ({"success": np.bool_(True)}, 1.0),
        ({"success": None}, np.nan),
        ({"success": {"left": True}}, np.nan),
        ({}, np.nan),
    ],
)
def test_success(info: dict[str, Any], expected: float) -> None:
    class Reporting(Counting):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:4], info

    vector = InProcessVector([Reporting], 0)
    vector.reset()
    np.testing.assert_equal(vector.step(NO_ACTION[:1]).success, [expected])


def test_a_missing_info_key_is_named_with_those_there() -> None:
    vector = counting_vector("weight")
    vector.reset()
    with pytest.raises(
        WoodshedError,
        match=r"environment 0 gave no info key 'weight' .* 'is_success', 'level', 'only_steps'",
    ):
        vector.step(NO_ACTION)


def test_an_info_key_that_a_reset_lacks_does_not_matter() -> None:
    vector = counting_vector("only_steps")
    vector.reset()
    assert [vector.step(NO_ACTION).info["only_steps"].tolist() for _ in range(3)] == [
        [1, 1],
        [2, 2],
        [1, 3],
    ]


@pytest.mark.parametrize("value", ["text", None, {"a": 1}, [[1], [1, 2]]])
def test_info_that_is_not_numbers_is_refused(value: Any) -> None:
    class Telling(Counting):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:4], {"word": value}

    vector = InProcessVector([Telling], 0, ("word",))
    vector.reset()
    with pytest.raises(WoodshedError, match="info key 'word' must hold numbers of one shape"):
        vector.step(NO_ACTION[:1])


def test_unequal_spaces_are_refused_and_what_was_made_is_closed() -> None:
    class Wide(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Box(-2, 2, (1,), np.float32)

    first, second = Counting(), Wide()
    with pytest.raises(WoodshedError, match=r"action_space of lane 0 is .* lane 1 is Box\(-2"):
        InProcessVector([lambda: first, lambda: second], 0)
    assert (first.closed, second.closed) == (1, 1)


def test_a_failing_function_comes_through_and_earlier_lanes_are_closed() -> None:
    first = Counting()

    def fail() -> gymnasium.Env[Any, Any]:
        raise ZeroDivisionError("in the user's code")

    with pytest.raises(ZeroDivisionError, match="in the user's code"):
        InProcessVector([lambda: first, fail], 0)
    assert first.closed == 1


def test_one_object_in_two_lanes_is_refused() -> None:
    env = Counting()
    with pytest.raises(WoodshedError, match="lane 1 returned the same environment object"):
        InProcessVector([lambda: env, lambda: env], 0)


@pytest.mark.parametrize("envs", [[], "woodshed/PointReach-v0"])
def test_lanes_must_be_listed(envs: Any) -> None:
    with pytest.raises(WoodshedError, match="one id or function for each lane"):
        InProcessVector(envs, 0)


def test_first_episodes_must_be_one_for_each_lane() -> None:
    with pytest.raises(WoodshedError, match="1 first episodes were given for 2 lanes"):
        InProcessVector([Counting, Counting], 0, first_episodes=[0])


@pytest.mark.parametrize("actions", [1, 3])
def test_another_number_of_actions_is_refused(actions: int) -> None:
    vector = counting_vector()
    vector.reset()
    with pytest.raises(WoodshedError, match=f"{actions} actions were given for 2 lanes"):
        vector.step(np.zeros((actions, 1), np.float32))


@pytest.mark.parametrize(
    "observation", [np.zeros(1), np.zeros((2, 1)), np.zeros(2, np.complex128), 0.0]
)
def test_an_observation_that_does_not_fit_its_space_is_refused(observation: Any) -> None:
    class Lying(Counting):
        def reset(self, **_: Any) -> Any:
            return observation, {}

    with pytest.raises(WoodshedError, match=r"environment 1 gave observation with shape"):
        InProcessVector([Counting, Lying], 0).reset()


def test_a_dict_observation_without_a_key_is_refused() -> None:
    class Lacking(Wandering):
        def observe(self) -> Any:
            return {"position": np.zeros(2), "inner": {"kind": 1}}

    with pytest.raises(WoodshedError, match=r"observation\['inner'\] without the key 'speed'"):
        InProcessVector([Lacking], 0).reset()


def test_a_space_that_cannot_be_stacked_is_refused() -> None:
    class Wordy(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = spaces.Dict({"word": spaces.Text(5)})

    with pytest.raises(WoodshedError, match=r"observation\['word'\] has the space Text"):
        InProcessVector([Wordy], 0)


def test_close_closes_every_environment_once_even_if_one_fails() -> None:
    class Stubborn(Counting):
        def close(self) -> None:
            super().close()
            raise OSError("will not close")

    first, second, third = Counting(), Stubborn(), Counting()
    vector = InProcessVector([lambda: first, lambda: second, lambda: third], 0)
    with pytest.raises(OSError, match="will not close"):
        vector.close()
    vector.close()
    assert [env.closed for env in (first, second, third)] == [1, 1, 1]


def test_sent_actions_are_a_copy_and_are_received_once() -> None:
    vector = InProcessVector([Wandering], 0)
    reference = InProcessVector([Wandering], 0)
    vector.reset()
    reference.reset()
    action = np.ones((1, 2), np.float32)
    vector.send(action)
    action[:] = 0
    with pytest.raises(WoodshedError, match="cannot send before what was sent is received"):
        vector.send(action)
    with pytest.raises(WoodshedError, match="cannot begin before what was sent is received"):
        vector.begin(np.ones(1, np.bool_))
    np.testing.assert_equal(vector.receive(), reference.step(np.ones((1, 2))))
    with pytest.raises(WoodshedError, match="there is nothing to receive"):
        vector.receive()
    vector.send(action)
    vector.reset()  # drops them
    with pytest.raises(WoodshedError, match="there is nothing to receive"):
        vector.receive()


def test_a_part_of_the_lanes_has_their_numbers_in_seeds_and_messages() -> None:
    whole = InProcessVector([Wandering] * 4, 3)
    part = InProcessVector([Wandering] * 2, 3, ("weight",), first_lane=2)
    first: Any = whole.reset()
    of_part: Any = part.reset()
    np.testing.assert_array_equal(of_part["position"], first["position"][2:])
    with pytest.raises(WoodshedError, match="environment 2 gave no info key 'weight'"):
        part.step(np.zeros((2, 2)))

    class Lying(Counting):
        def reset(self, **_: Any) -> Any:
            return np.zeros(3), {}

    with pytest.raises(WoodshedError, match="environment 8 gave observation"):
        InProcessVector([Counting, Lying], 0, first_lane=7).reset()


def test_some_lanes_begin() -> None:
    vector = counting_vector()
    vector.reset()
    begun = vector.begin(np.array([False, True]))
    np.testing.assert_array_equal(begun, [[0, 0], [1, 0]])
    assert vector.episodes.tolist() == [0, 1]
    step = vector.step(NO_ACTION)
    np.testing.assert_array_equal(step.next_observation, [[0, 1], [1, 1]])
    assert not step.cut.any()
    assert step.failures == ()


def test_an_environment_acts_in_its_spaces_dtype() -> None:
    class Noting(Counting):
        def step(self, action: Any) -> Any:
            assert action.dtype == np.float32
            return super().step(action)

    vector = InProcessVector([Noting], 0)
    vector.reset()
    vector.step(np.zeros((1, 1), np.float64))
    vector.remake([0], [np.zeros((2, 1), np.float64)])
