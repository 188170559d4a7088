from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tests.envs.toys import Counting

from woodshed.envs import GymnasiumVector, InProcessVector, VectorEnvironment, VectorStep
from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer
from woodshed.runners import Episode, EpisodeTracker, Runner, normalised_actions

LENGTHS = ((2, 3), (1, 4))
"""Of the episodes of each lane, in turn; even ones end terminated, odd ones truncated."""


def make_runner(environments: VectorEnvironment, **options: Any) -> tuple[Runner, ReplayBuffer]:
    buffer = ReplayBuffer(
        environments.observation_space,
        normalised_actions(environments.action_space),
        100,
        n_envs=environments.n_envs,
        gamma=0.9,
        seed=0,
        **options,
    )
    generator = np.random.default_rng(0)
    keys = tuple(options.get("info_space", ()))
    return Runner(environments, buffer, generator, keys), buffer


def lanes() -> list[Any]:
    return [lambda lengths=lengths: Counting(lengths) for lengths in LENGTHS]


def vectors() -> list[VectorEnvironment]:
    return [
        InProcessVector(lanes(), run_seed=0),
        *(GymnasiumVector(SyncVectorEnv(lanes(), autoreset_mode=mode)) for mode in AutoresetMode),
    ]


def stored(buffer: ReplayBuffer) -> list[tuple[Any, ...]]:
    return [
        (
            episode.observation.tolist(),
            episode.reward.tolist(),
            episode.ending,
        )
        for episode in buffer.episodes()
    ]


@pytest.mark.parametrize("which", range(4), ids=["in process", *(m.name for m in AutoresetMode)])
def test_episodes_are_stored_whole_in_every_autoreset_mode(which: int) -> None:
    environments = vectors()[which]
    runner, buffer = make_runner(environments)
    finished: list[Episode] = []
    taken = 0
    while len(finished) < 6:
        step, ended = runner.step(np.zeros((2, 1), np.float32))
        finished += ended
        taken += int(step.stepped.sum())
    assert len(buffer) == taken
    whole = [episode for episode in stored(buffer) if episode[2] != "open"]
    # Lane by lane: rows [episode, step], the true final one with them.
    for lengths in LENGTHS:
        for number in (0, 1):
            steps = lengths[number]
            expected = (
                [[number, time] for time in range(steps + 1)],
                [float(time) for time in range(1, steps + 1)],
                "terminated" if number == 0 else "truncated",
            )
            assert expected in whole
    for episode in finished:
        assert episode.return_sum == episode.length * (episode.length + 1) / 2
        assert episode.success == 1.0


def test_a_step_that_only_resets_stores_nothing() -> None:
    environments = GymnasiumVector(
        SyncVectorEnv([lambda: Counting((1,))], autoreset_mode=AutoresetMode.NEXT_STEP)
    )
    runner, buffer = make_runner(environments)
    sizes = []
    for _ in range(4):
        runner.step(np.zeros((1, 1), np.float32))
        sizes.append(len(buffer))
    assert sizes == [1, 1, 2, 2]


def test_actions_are_stored_normalised_and_taken_scaled() -> None:
    seen: list[Any] = []

    class Wide(Counting):
        def __init__(self) -> None:
            super().__init__((9,))
            self.action_space = spaces.Box(
                np.array([[0, -4]], np.float32), np.array([[10, 4]], np.float32)
            )

        def step(self, action: Any) -> Any:
            seen.append(action.tolist())
            return super().step(action)

    runner, buffer = make_runner(InProcessVector([Wide], run_seed=0))
    action = np.array([[[-1.0, 0.5]]], np.float32)
    runner.step(action)
    assert seen == [[[0.0, 2.0]]]
    assert next(buffer.episodes()).action.tolist() == [[[-1.0, 0.5]]]
    drawn = np.concatenate([runner.random_action() for _ in range(2_000)])
    assert drawn.shape == (2_000, 1, 2)
    assert drawn.dtype == np.float32
    assert np.abs(drawn).max() <= 1
    assert np.abs(drawn.mean(axis=0)).max() < 4 * np.sqrt(1 / 3 / 2_000)


def test_asked_info_is_stored() -> None:
    environments = InProcessVector([Counting, Counting], 0, ("level",))
    level = spaces.Box(-np.inf, np.inf, (), np.float64)
    runner, buffer = make_runner(environments, info_space={"level": level})
    for _ in range(3):
        runner.step(np.zeros((2, 1), np.float32))
    assert [episode.info["level"].tolist() for episode in buffer.episodes()] == 2 * [[1, 2], [11]]


def test_unbounded_actions_are_refused() -> None:
    with pytest.raises(WoodshedError, match="unbounded"):
        normalised_actions(spaces.Box(-np.inf, np.inf, (2,), np.float32))
    assert normalised_actions(spaces.Box(0, 5, (2, 3), np.float64)) == spaces.Box(
        -1.0, 1.0, (2, 3), np.float32
    )


def two_lanes(
    stepped: list[bool],
    reward: list[float],
    over: list[bool],
    cut: tuple[bool, bool] = (False, False),
) -> VectorStep:
    return VectorStep(
        stepped=np.array(stepped),
        next_observation=np.zeros((2, 1)),
        reward=np.array(reward),
        terminated=np.array(over),
        truncated=np.zeros(2, np.bool_),
        info={},
        success=np.array([1.0, np.nan]),
        observation=np.zeros((2, 1)),
        cut=np.array(cut),
        failures=(),
    )


def test_tracker_forgets_what_was_cut() -> None:
    tracker = EpisodeTracker(2)
    tracker.follow(two_lanes([True, True], [1, 2], [False, False]))
    cut = two_lanes([True, False], [3, 0], [False, False], cut=(False, True))
    assert tracker.follow(cut) == {}
    ended = tracker.follow(two_lanes([True, True], [5, 6], [True, True]))
    assert (ended[0][:2], ended[1][:2]) == ((9.0, 3), (6.0, 1))


def test_tracker_counts_only_what_was_stepped() -> None:
    tracker = EpisodeTracker(2)
    assert tracker.follow(two_lanes([True, True], [1, 2], [False, False])) == {}
    assert tracker.follow(two_lanes([True, False], [3, np.nan], [True, True])) == {0: (4.0, 2, 1.0)}
    ended = tracker.follow(two_lanes([True, True], [5, 6], [True, True]))
    assert ended[0] == (5.0, 1, 1.0)
    assert ended[1][:2] == (8.0, 2)
    assert np.isnan(ended[1].success)
