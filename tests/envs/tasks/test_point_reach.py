from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from woodshed.envs import make_environment
from woodshed.envs.tasks import register_tasks
from woodshed.envs.tasks.point_reach import PointReach


def placed(position: tuple[float, float], goal: tuple[float, float], **options: Any) -> PointReach:
    env = PointReach(**options)
    env.reset(seed=0)
    env._position = np.array(position, np.float32)
    env._goal = np.array(goal, np.float32)
    return env


@pytest.mark.parametrize(
    ("start", "action", "end"),
    [
        ((0.0, 0.0), (1.0, -0.5), (0.1, -0.05)),
        ((0.5, 0.5), (0.0, 0.0), (0.5, 0.5)),
        ((0.95, -0.98), (1.0, -1.0), (1.0, -1.0)),
        ((0.0, 0.0), (3.0, -7.0), (0.1, -0.1)),
    ],
)
def test_an_action_moves_the_point(
    start: tuple[float, float], action: tuple[float, float], end: tuple[float, float]
) -> None:
    env = placed(start, (0.7, 0.7))
    observation, *_ = env.step(np.array(action, np.float32))
    np.testing.assert_allclose(observation["observation"], end, rtol=1e-6)
    np.testing.assert_array_equal(observation["achieved_goal"], observation["observation"])
    np.testing.assert_array_equal(observation["desired_goal"], np.array([0.7, 0.7], np.float32))


@pytest.mark.parametrize("terminate", [False, True])
@pytest.mark.parametrize(
    ("goal", "reward", "success"),
    [((0.0, 0.099), 0.0, True), ((0.0, 0.101), -1.0, False), ((0.08, 0.07), -1.0, False)],
)
def test_the_goal_is_reached_within_a_tenth(
    goal: tuple[float, float], reward: float, success: bool, terminate: bool
) -> None:
    env = placed((0.0, 0.0), goal, terminate_on_success=terminate)
    _, got, terminated, truncated, info = env.step(np.zeros(2, np.float32))
    assert (got, terminated, truncated) == (reward, success and terminate, False)
    assert info == {"is_success": success}


def test_rewards_and_terminations_of_a_batch_of_goals() -> None:
    achieved = np.array([[0, 0], [0, 0], [1, 1]], np.float32)
    desired = np.array([[0, 0.05], [0.2, 0], [-1, -1]], np.float32)
    quiet, ending = PointReach(), PointReach(terminate_on_success=True)
    reward = quiet.compute_reward(achieved, desired, {})
    assert reward.dtype == np.float32
    assert reward.tolist() == [0, -1, -1]
    assert quiet.compute_terminated(achieved, desired, {}).tolist() == [False, False, False]
    assert ending.compute_terminated(achieved, desired, {}).tolist() == [True, False, False]


def test_batch_and_step_agree_on_every_visited_state() -> None:
    env = PointReach(terminate_on_success=True)
    rng = np.random.default_rng(0)
    steps = []
    for episode in range(40):
        observation, _ = env.reset(seed=episode)
        for _ in range(25):
            way = observation["desired_goal"] - observation["achieved_goal"]
            action = np.sign(way) * rng.uniform(-0.5, 1, 2)
            observation, reward, terminated, *_ = env.step(action.astype(np.float32))
            goals = observation["achieved_goal"], observation["desired_goal"]
            steps.append((*goals, reward, terminated))
    achieved, desired, rewards, ends = (np.array(field) for field in zip(*steps, strict=True))
    np.testing.assert_array_equal(env.compute_reward(achieved, desired, {}), rewards)
    np.testing.assert_array_equal(env.compute_terminated(achieved, desired, {}), ends)
    assert 0 < ends.sum() < len(ends)


def test_a_seed_gives_the_start_and_the_goal() -> None:
    env = PointReach()
    one, other = env.reset(seed=1)[0], env.reset(seed=2)[0]
    again = env.reset(seed=1)[0]
    for key, value in one.items():
        np.testing.assert_array_equal(again[key], value)
        assert (other[key] != value).all()


def test_starts_and_goals_fill_the_square() -> None:
    env = PointReach()
    resets = [env.reset(seed=seed)[0] for seed in range(200)]
    for key in ("observation", "desired_goal"):
        points = np.array([reset[key] for reset in resets])
        assert points.dtype == np.float32
        assert (points.min(axis=0) < -0.9).all()
        assert (points.max(axis=0) > 0.9).all()
        assert (np.abs(points.mean(axis=0)) < 0.15).all()


def test_returned_observations_do_not_change_later() -> None:
    env = PointReach()
    first = env.reset(seed=0)[0]
    before = {key: value.copy() for key, value in first.items()}
    env.step(np.ones(2, np.float32))
    env.reset(seed=5)
    for key, value in first.items():
        np.testing.assert_array_equal(value, before[key])


def test_changing_a_returned_observation_does_not_move_the_point() -> None:
    env = placed((0.2, 0.3), (0.7, 0.8))
    observation, *_ = env.step(np.zeros(2, np.float32))
    for value in observation.values():
        value[:] = 0
    observation, *_ = env.step(np.zeros(2, np.float32))
    np.testing.assert_array_equal(observation["achieved_goal"], np.array([0.2, 0.3], np.float32))
    np.testing.assert_array_equal(observation["desired_goal"], np.array([0.7, 0.8], np.float32))


def test_the_registered_task_ends_after_25_steps() -> None:
    env = make_environment("woodshed/PointReach-v0")
    env.reset(seed=0)
    ends = [env.step(np.zeros(2, np.float32))[2:4] for _ in range(25)]
    assert ends == [(False, False)] * 24 + [(False, True)]


def test_every_goal_can_be_reached_in_the_time() -> None:
    env = placed((-1.0, -1.0), (1.0, 1.0))
    successes = [env.step(np.ones(2, np.float32))[4]["is_success"] for _ in range(25)]
    assert successes == [False] * 19 + [True] * 6


@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # the checker's advice on environments in general
def test_gymnasiums_checker_accepts_it() -> None:
    check_env(PointReach(), skip_render_check=True)


def test_registering_again_changes_nothing(recwarn: pytest.WarningsRecorder) -> None:
    spec = gymnasium.registry["woodshed/PointReach-v0"]
    register_tasks()
    assert gymnasium.registry["woodshed/PointReach-v0"] is spec
    assert len(recwarn) == 0
