from typing import Any

import gymnasium
import numpy as np
import pytest

from woodshed.errors import WoodshedError
from woodshed.runners import Episode
from woodshed.training import Evaluation, Evaluator


class Timed(gymnasium.Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """Episodes of 1 to 9 steps, by seed; the first observation says how many; 1 for each step."""

    observation_space = gymnasium.spaces.Box(0, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.left = self.length = int(self.np_random.integers(1, 10))
        return np.full(1, self.length, np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        success = {"is_success": self.length > 5}
        return np.full(1, self.left, np.float32), 1.0, self.left == 0, False, success


def _still(observation: Any) -> Any:
    return np.zeros((len(observation), 1), np.float32)


@pytest.mark.parametrize("lanes", [1, 3, 7])
@pytest.mark.parametrize("episodes", [1, 2, 20])
def test_plays_exactly_the_asked_episodes(lanes: int, episodes: int) -> None:
    evaluation = Evaluator(Timed, lanes, seed=5).run(_still, episodes)
    assert len(evaluation.episodes) == episodes
    for episode in evaluation.episodes:
        assert episode.return_sum == episode.length
        assert episode.success == (episode.length > 5)
    lengths = [episode.length for episode in evaluation.episodes]
    assert evaluation.return_mean == pytest.approx(sum(lengths) / episodes)


def test_same_episodes_each_time_and_others_from_another_number_on() -> None:
    evaluator = Evaluator(Timed, 2, seed=5)
    first, again = evaluator.run(_still, 30), evaluator.run(_still, 30)
    assert first == again
    assert evaluator.run(_still, 30, first=1_000) != first


def test_short_episodes_do_not_count_more() -> None:
    """Each lane plays its own share, so the mean length is that of the episodes, not less."""
    evaluation = Evaluator(Timed, 8, seed=0).run(_still, 400)
    mean = np.mean([episode.length for episode in evaluation.episodes])
    assert abs(mean - 5.0) < 4 * np.sqrt(20 / 3 / 400)  # uniform on 1 … 9: mean 5, variance 20/3


def test_return_that_is_not_finite_is_an_error() -> None:
    class Broken(Timed):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            return observation, np.nan, *rest

    with pytest.raises(WoodshedError, match="evaluation episode in environment 0 sum to nan"):
        Evaluator(Broken, 1, seed=0).run(_still, 1)


def test_better_is_more_success_then_more_return() -> None:
    def evaluation(*success: float, return_sum: float = 0.0) -> Evaluation:
        return Evaluation(tuple(Episode(return_sum, 1, share) for share in success))

    assert evaluation(1, 0, return_sum=-9).score > evaluation(0, 0, return_sum=9).score
    assert evaluation(1, 0, return_sum=9).score > evaluation(0, 1, return_sum=8).score
    assert evaluation(1, 1, 0, 0).success_rate == 0.5
    assert evaluation(1, np.nan).success_rate is None
    assert evaluation(np.nan, return_sum=2).score > evaluation(np.nan, return_sum=1).score
