import numpy as np
import pytest
from tests.envs.toys import Counting

from woodshed.envs import SeededEpisodes, episode_seed
from woodshed.errors import WoodshedError


def test_the_seed_is_the_upper_31_bits_of_the_seed_sequence() -> None:
    # Literals: a changed rule would change every run that was ever recorded.
    assert episode_seed(0, 0, 0) == 1484405855
    assert episode_seed(1, 2, 3) == 1911094848
    word = np.random.SeedSequence([1, 2, 3]).generate_state(1, np.uint32)[0]
    assert episode_seed(1, 2, 3) == word // 2


def test_seeds_of_neighbours_differ_and_fit_31_bits() -> None:
    seeds = {
        episode_seed(run, lane, episode)
        for run in range(10)
        for lane in range(10)
        for episode in range(10)
    }
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert max(seeds) > 2**30


def test_a_large_run_seed_is_taken() -> None:
    assert 0 <= episode_seed(2**63, 0, 0) < 2**31


@pytest.mark.parametrize("numbers", [(-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_negative_numbers_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(WoodshedError, match="seeds are made of numbers from 0 on"):
        episode_seed(*numbers)
    with pytest.raises(WoodshedError, match="seeds are made of numbers from 0 on"):
        SeededEpisodes(Counting(), *numbers)


def test_each_reset_takes_the_next_episodes_seed() -> None:
    env = Counting()
    lane = SeededEpisodes(env, run_seed=4, lane=2, first_episode=6)
    lane.reset()
    lane.reset()
    assert env.seeds == [episode_seed(4, 2, 6), episode_seed(4, 2, 7)]
    assert lane.next_episode == 8


def test_a_seed_of_the_callers_is_passed_on_and_not_counted() -> None:
    env = Counting()
    lane = SeededEpisodes(env, run_seed=4, lane=2)
    lane.reset(seed=11)
    lane.reset()
    assert env.seeds == [11, episode_seed(4, 2, 0)]


def test_options_are_passed_on_and_empty_ones_are_none() -> None:
    env = Counting()
    lane = SeededEpisodes(env, run_seed=4, lane=2)
    lane.reset(options={"start": 3})
    lane.reset(options={})
    lane.reset()
    assert env.options == [{"start": 3}, None, None]
