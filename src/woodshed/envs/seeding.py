"""One seed for every episode, so that each can be made again alone."""

from typing import Any

import gymnasium
import numpy as np

from woodshed.errors import WoodshedError


def episode_seed(run_seed: int, lane: int, episode: int) -> int:
    """Seed of one episode: 31 bits of numpy's `SeedSequence([run_seed, lane, episode])`.

    Args:
        run_seed: seed of the run, 0 or more
        lane: number of the environment, 0 or more
        episode: number of the episode in its lane, 0 or more

    Returns:
        A seed in [0, 2**31), which every environment's `reset(seed=)` takes.

    Raises:
        WoodshedError: one of them is negative.
    """
    if min(run_seed, lane, episode) < 0:
        raise WoodshedError(
            f"seeds are made of numbers from 0 on; got seed {run_seed}, environment {lane}, "
            f"episode {episode}"
        )
    return int(np.random.SeedSequence([run_seed, lane, episode]).generate_state(1)[0]) >> 1


class SeededEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gives every episode of one lane its own seed, whoever calls `reset`.

    Wrap each sub-environment of a Gymnasium vector environment in it, outermost: then Gymnasium's
    automatic resets, in each of its three modes, play the same episodes.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], run_seed: int, lane: int, first_episode: int = 0
    ) -> None:
        """Wrap one environment.

        Args:
            env: the environment
            run_seed: seed of the run
            lane: number of the environment in the run
            first_episode: number of the episode that the first reset begins
        """
        super().__init__(env)
        episode_seed(run_seed, lane, first_episode)  # refuse a negative number now
        self.run_seed = run_seed
        self.lane = lane
        self.next_episode = first_episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the lane's next episode; with a `seed` of the caller's, one that is not counted."""
        if seed is None:
            seed = episode_seed(self.run_seed, self.lane, self.next_episode)
            self.next_episode += 1
        # Gymnasium's reset with a mask hands on what is left of the options, an empty dict.
        return self.env.reset(seed=seed, options=options or None)
