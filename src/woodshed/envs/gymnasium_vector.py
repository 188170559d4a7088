"""Gymnasium's vector environments, whatever their autoreset mode, behind our one interface."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from woodshed.envs.info import SUCCESS_KEYS, missing_key, numbers, scalar
from woodshed.envs.trees import Tree, copy_tree, take_rows, write_rows, zeros_tree
from woodshed.envs.vector import VectorStep
from woodshed.errors import WoodshedError


class GymnasiumVector:
    """Any `gymnasium.vector.VectorEnv` as a `VectorEnvironment`.

    The rows with `stepped` make the same sequence of transitions in the three autoreset modes. In
    the next-step mode the first observation of the next episode is not known when one ends: there
    `observation` repeats the final one, the next action of that lane is not used, and the next
    step gives the first observation with `stepped` False. In the disabled mode ended lanes are
    reset here.

    For a seed per episode wrap each sub-environment in `SeededEpisodes`, with its lane number, in
    the functions that Gymnasium's `SyncVectorEnv` and `AsyncVectorEnv` take.

    Gymnasium stores an info key in an array of the type that the first lane gave: an environment
    should give a key always as int or always as float.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        info_keys: Sequence[str] = (),
        *,
        seed: int | None = None,
    ) -> None:
        """Take over a vector environment that was not reset yet.

        Args:
            env: the vector environment; `close` closes it
            info_keys: info keys that every step must give
            seed: given to the first reset, for vector environments without `SeededEpisodes`

        Raises:
            WoodshedError: its metadata do not say the autoreset mode, or its observation space
                cannot be stacked.
        """
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise WoodshedError(
                "the vector environment does not say when it resets its lanes: "
                f"metadata['autoreset_mode'] is {mode!r}; set it to one of "
                "gymnasium.vector.AutoresetMode"
            )
        zeros_tree(env.single_observation_space, 1)  # refuses what cannot be stacked
        self.observation_space: gymnasium.Space[Any] = env.single_observation_space
        self.action_space: gymnasium.Space[Any] = env.single_action_space
        self._env = env
        self._mode = mode
        self._info_keys = tuple(info_keys)
        self._seed = seed
        self._ended = np.zeros(env.num_envs, np.bool_)
        self._last_info: dict[str, NDArray[Any]] = {}
        self._sent: NDArray[Any] | None = None

    @property
    def n_envs(self) -> int:
        """Number of lanes L."""
        return int(self._env.num_envs)

    def reset(self) -> Tree:
        """Begin an episode in every lane.

        Returns:
            First observations [L, ...].

        Raises:
            WoodshedError: an episode has just ended in a vector environment that would reset again.
        """
        # Without shared memory Gymnasium's worker (1.4) does not note the reset: its next step
        # would reset once more and look like a transition from one episode to another.
        shares_memory = getattr(self._env.unwrapped, "shared_memory", True)
        if self._mode is AutoresetMode.NEXT_STEP and self._ended.any() and not shares_memory:
            raise WoodshedError(
                "AsyncVectorEnv with shared_memory=False cannot be reset just after an episode's "
                "end; take one more step first, or make it with shared_memory=True"
            )
        observation, _ = self._env.reset(seed=self._seed)
        self._seed = None
        self._sent = None
        self._ended = np.zeros(self.n_envs, np.bool_)
        return copy_tree(observation)

    def send(self, action: NDArray[Any]) -> None:
        """Keep a copy of the actions until `receive`.

        Args:
            action: [L, ...] within the action space

        Raises:
            WoodshedError: what was sent before was not received yet.
        """
        if self._sent is not None:
            raise WoodshedError("cannot send before what was sent is received")
        self._sent = np.array(action)

    def receive(self) -> VectorStep:
        """Step every lane that is in an episode.

        Raises:
            WoodshedError: nothing was sent, an info key is missing, or a final observation is.
        """
        if self._sent is None:
            raise WoodshedError("there is nothing to receive: send actions first")
        action, self._sent = self._sent, None
        stepped = np.ones(self.n_envs, np.bool_)
        if self._mode is AutoresetMode.NEXT_STEP:
            stepped = ~self._ended
        given, reward, terminated, truncated, infos = self._env.step(action)
        terminated, truncated = np.array(terminated, np.bool_), np.array(truncated, np.bool_)
        ended = terminated | truncated
        next_observation = copy_tree(given)
        observation = copy_tree(given)
        if ended.any() and self._mode is AutoresetMode.SAME_STEP:
            _write_final(next_observation, infos, ended)
        elif ended.any() and self._mode is AutoresetMode.DISABLED:
            first, _ = self._env.reset(options={"reset_mask": ended.copy()})
            write_rows(observation, ended, take_rows(first, ended))
        self._ended = ended
        return VectorStep(
            stepped,
            next_observation,
            np.array(reward, np.float64),
            terminated,
            truncated,
            {key: self._asked(infos, key, stepped, ended) for key in self._info_keys},
            self._success(infos, stepped, ended),
            observation,
            np.zeros(self.n_envs, np.bool_),
            (),
        )

    def step(self, action: NDArray[Any]) -> VectorStep:
        """`send` and `receive`."""
        self.send(action)
        return self.receive()

    def close(self) -> None:
        """Close the vector environment."""
        self._env.close()

    def _asked(
        self,
        infos: Mapping[str, Any],
        key: str,
        stepped: NDArray[np.bool_],
        ended: NDArray[np.bool_],
    ) -> NDArray[Any]:
        """An asked info key [L, ...], zero where the lane did not step."""
        values, there = self._of_steps(infos, key, ended)
        missing = np.flatnonzero(stepped & ~there)
        if len(missing) > 0:
            given = {name for source in (infos, infos.get("final_info", {})) for name in source}
            names = {name for name in given if not name.startswith("_")}
            raise missing_key(key, int(missing[0]), names - {"final_info", "final_obs"})
        if values is None or not stepped.any():  # a reset may give the key in another form
            return np.zeros_like(self._last_info[key])
        there &= stepped
        rows = numbers(key, list(values[there]))
        filled = np.zeros((self.n_envs, *rows.shape[1:]), rows.dtype)
        filled[there] = rows
        self._last_info[key] = filled
        return filled

    def _success(
        self, infos: Mapping[str, Any], stepped: NDArray[np.bool_], ended: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        success = np.full(self.n_envs, np.nan)
        for key in reversed(SUCCESS_KEYS):  # the first overwrites the others
            values, there = self._of_steps(infos, key, ended)
            if values is not None:
                success[stepped & there] = [scalar(v) for v in values[stepped & there]]
        return success

    def _of_steps(
        self, infos: Mapping[str, Any], key: str, ended: NDArray[np.bool_]
    ) -> tuple[NDArray[Any] | None, NDArray[np.bool_]]:
        """What the steps, not the resets, gave for a key: values [L, ...] and where they count [L].

        In the same-step mode the step's info of an ended lane lies in `final_info`, and the reset's
        in its place.
        """
        values, there = _column(infos, key, self.n_envs)
        if self._mode is not AutoresetMode.SAME_STEP or not ended.any():
            return values, there
        final, final_there = _column(infos.get("final_info", {}), key, self.n_envs)
        there = np.where(ended, final_there, there)
        if final is None:
            return values, there
        if values is None or ended.all():
            return final, there
        merged = np.zeros(values.shape, np.result_type(values, final))
        merged[~ended], merged[ended] = values[~ended], final[ended]
        return merged, there


def _column(
    infos: Mapping[str, Any], key: str, n: int
) -> tuple[NDArray[Any] | None, NDArray[np.bool_]]:
    """One key of Gymnasium's vector info: its values [L, ...] and the lanes that gave it [L].

    Beside each key Gymnasium puts `_key`, a mask of the lanes that gave it; a vector environment
    that writes its info itself may leave that out, where all lanes gave it, or give one value.
    """
    if key not in infos:
        return None, np.zeros(n, np.bool_)
    there = np.array(infos.get(f"_{key}", np.ones(n)), np.bool_)
    value = infos[key]
    if isinstance(value, dict) or np.ndim(value) == 0 or len(value) != n:  # one for all lanes
        values = np.empty(n, np.object_)
        values[:] = [value] * n
        return values, there
    return np.asarray(value), there


def _write_final(tree: Tree, infos: Mapping[str, Any], ended: NDArray[np.bool_]) -> None:
    """Put the final observations of ended lanes, from `final_obs`, into the tree."""
    if "final_obs" not in infos:
        raise WoodshedError(
            "the vector environment resets in the same step, but its info has no 'final_obs', so "
            "that the last observation of an episode is lost; use another autoreset mode"
        )
    final = infos["final_obs"]
    if isinstance(final, np.ndarray) and final.dtype == np.object_:  # one observation for each lane
        for lane in np.flatnonzero(ended):
            write_rows(tree, int(lane), final[lane])
    else:  # a tree with lanes in front, from vector environments that are vectorised themselves
        write_rows(tree, ended, take_rows(final, ended))
