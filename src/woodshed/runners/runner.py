"""The runner: it acts in the environments and writes what happens to the replay."""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.connectors import scale_action
from woodshed.envs import VectorEnvironment, VectorStep, bounded_box
from woodshed.replay import ReplayBuffer


class Episode(NamedTuple):
    """What came of one finished episode."""

    return_sum: float
    """Sum of its rewards, undiscounted."""
    length: int
    """Its steps."""
    success: float
    """1 or 0 as the environment said in its last step; nan where it says nothing."""


class EpisodeTracker:
    """Sums rewards and counts steps of the episodes that are under way."""

    def __init__(self, lanes: int) -> None:
        """Begin an episode in every lane."""
        self._return = np.zeros(lanes)
        self._length = np.zeros(lanes, np.int64)

    def follow(self, step: VectorStep) -> dict[int, Episode]:
        """Take one step in; the episodes that it ended, by lane."""
        self._return += np.where(step.stepped, step.reward, 0.0)
        self._length += step.stepped
        ended = np.flatnonzero(step.stepped & (step.terminated | step.truncated)).tolist()
        finished = {
            lane: Episode(
                float(self._return[lane]), int(self._length[lane]), float(step.success[lane])
            )
            for lane in ended
        }
        self._return[ended] = 0.0
        self._length[ended] = 0
        return finished


def normalised_actions(action_space: gymnasium.Space[Any]) -> gymnasium.spaces.Box:
    """The space that policies act in and replays store: the same shape, bounds -1 and 1.

    Raises:
        WoodshedError: when the action space is no bounded Box.
    """
    shape = bounded_box(action_space).shape
    return gymnasium.spaces.Box(-1.0, 1.0, shape, np.float32)


class Runner:
    """Steps a vector environment with given actions; every step goes into the replay.

    Attributes:
        observation: tree of `[L, …]`, what to act on next.
    """

    def __init__(
        self,
        environments: VectorEnvironment,
        buffer: ReplayBuffer,
        generator: np.random.Generator,
        info_keys: tuple[str, ...] = (),
    ) -> None:
        """Begin the first episodes.

        Args:
            environments: its lanes are the buffer's.
            buffer: made for `normalised_actions` of the environments.
            generator: of the random actions.
            info_keys: what the buffer stores of the info.
        """
        self._environments = environments
        self._buffer = buffer
        self._generator = generator
        self._info_keys = info_keys
        self._bounds = bounded_box(environments.action_space)
        self._tracker = EpisodeTracker(environments.n_envs)
        self.observation = environments.reset()

    def random_action(self) -> NDArray[np.float32]:
        """`[L, …]` uniform over the action space, normalised to [-1, 1]."""
        shape = (self._environments.n_envs, *self._bounds.shape)
        return self._generator.uniform(-1.0, 1.0, shape).astype(np.float32)

    def step(self, action: NDArray[np.float32]) -> tuple[VectorStep, list[Episode]]:
        """Act in every environment and write the transitions.

        Args:
            action: `[L, …]` in [-1, 1].

        Returns:
            The step, and the episodes that it ended.
        """
        bounds = self._bounds
        step = self._environments.step(scale_action(action, bounds.low, bounds.high))
        self._buffer.add(
            observation=self.observation,
            action=action,
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
            next_observation=step.next_observation,
            info={key: step.info[key] for key in self._info_keys},
            mask=step.stepped,
        )
        self.observation = step.observation
        return step, list(self._tracker.follow(step).values())
