"""The runner: it acts in the environments and writes what happens to the replay."""

import gymnasium
import numpy as np
from numpy.typing import NDArray

from woodshed.connectors import scale_action
from woodshed.envs import Tree, VectorEnvironment, VectorStep, bounded_box
from woodshed.replay import ReplayBuffer
from woodshed.runners.episodes import Episode, EpisodeTracker


def normalised_actions(action_space: gymnasium.Space[object]) -> gymnasium.spaces.Box:
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
        generator: of the random actions.
        tracker: of the episodes under way.
    """

    def __init__(
        self,
        environments: VectorEnvironment,
        buffer: ReplayBuffer,
        generator: np.random.Generator,
        info_keys: tuple[str, ...] = (),
        *,
        observation: "Tree | None" = None,
    ) -> None:
        """Begin the first episodes.

        Args:
            environments: its lanes are the buffer's.
            buffer: made for `normalised_actions` of the environments.
            generator: of the random actions.
            info_keys: what the buffer stores of the info.
            observation: `[L, …]` of environments that are in an episode already; they are not
                reset then.
        """
        self._environments = environments
        self._buffer = buffer
        self._info_keys = info_keys
        self._bounds = bounded_box(environments.action_space)
        self._action: NDArray[np.float32] | None = None
        self.generator = generator
        self.tracker = EpisodeTracker(environments.n_envs)
        self.observation = environments.reset() if observation is None else observation

    def random_action(self) -> NDArray[np.float32]:
        """`[L, …]` uniform over the action space, normalised to [-1, 1]."""
        shape = (self._environments.n_envs, *self._bounds.shape)
        return self.generator.uniform(-1.0, 1.0, shape).astype(np.float32)

    def send(self, action: NDArray[np.float32]) -> None:
        """Begin to act in every environment; worker processes step while the caller goes on.

        Args:
            action: `[L, …]` in [-1, 1].
        """
        self._environments.send(scale_action(action, self._bounds.low, self._bounds.high))
        self._action = action

    def receive(self) -> tuple[VectorStep, list[Episode]]:
        """Wait for the environments and write the transitions of the actions that were sent.

        Episodes that were given up, since their environment failed, are cut in the replay.

        Returns:
            The step, and the episodes that it ended.
        """
        assert self._action is not None, "receive before send"
        step = self._environments.receive()
        self._buffer.add(
            observation=self.observation,
            action=self._action,
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
            next_observation=step.next_observation,
            info={key: step.info[key] for key in self._info_keys},
            mask=step.stepped,
        )
        if step.cut.any():
            self._buffer.cut(step.cut)
        self.observation = step.observation
        return step, list(self.tracker.follow(step).values())

    def step(self, action: NDArray[np.float32]) -> tuple[VectorStep, list[Episode]]:
        """`send` and `receive`."""
        self.send(action)
        return self.receive()
