"""What both sides store: FetchPush's shapes, 50-step episodes, and Fetch's sparse reward.

Imported in every peer's environment: numpy and gymnasium only.
Shapes: T time, L lanes (environments).
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Observation: TypeAlias = dict[str, Array]
Float: TypeAlias = type[np.floating[Any]]

EPISODE_STEPS = 50
OBSERVATION_SIZE, GOAL_SIZE, ACTION_SIZE = 25, 3, 4
DISTANCE_THRESHOLD = 0.05  # metres, Fetch's own
GOALS_PER_TRANSITION = 4  # hindsight's k
SMALL_OBSERVATION_SIZE = 4


def observation_space(dtype: Float = np.float64) -> spaces.Dict:
    """FetchPush's observation space; Gymnasium-Robotics declares it in float64."""

    def box(size: int) -> spaces.Box:
        return spaces.Box(-np.inf, np.inf, (size,), dtype)

    return spaces.Dict(
        observation=box(OBSERVATION_SIZE), achieved_goal=box(GOAL_SIZE), desired_goal=box(GOAL_SIZE)
    )


def small_observation_space() -> spaces.Box:
    """A flat observation of few numbers, as CartPole's."""
    return spaces.Box(-np.inf, np.inf, (SMALL_OBSERVATION_SIZE,), np.float32)


def action_space() -> spaces.Box:
    """FetchPush's action space."""
    return spaces.Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)


def compute_reward(achieved_goal: Array, desired_goal: Array, info: Any) -> Array:
    """Fetch's sparse reward: 0 within the threshold, else -1, for one row or a batch."""
    distance = np.linalg.norm(achieved_goal - desired_goal, axis=-1)
    reward: Array = -(distance > DISTANCE_THRESHOLD).astype(np.float32)
    return reward


class Episode(NamedTuple):
    """One episode of every lane, all of them truncated at the same step as Fetch's are."""

    observation: Observation  # [T + 1, L, size]
    action: Array  # [T, L, ACTION_SIZE] float32
    reward: Array  # [T, L] float32
    terminated: Array  # [T, L] bool
    truncated: Array  # [T, L] bool


class Step(NamedTuple):
    """One vector step, as a vector environment hands it over."""

    observation: Observation  # [L, size]
    action: Array  # [L, ACTION_SIZE]
    reward: Array  # [L]
    terminated: Array  # [L] bool
    truncated: Array  # [L] bool
    next_observation: Observation  # [L, size]


def make_episode(rng: np.random.Generator, n_envs: int) -> Episode:
    """Draw an episode: the object walks at random, the goal lies within 15 cm of its start."""
    T, L = EPISODE_STEPS, n_envs
    walk = rng.normal(0.0, 0.01, (T + 1, L, GOAL_SIZE)).cumsum(axis=0)
    goal = rng.uniform(-0.15, 0.15, (L, GOAL_SIZE))
    observation: Observation = {
        "observation": rng.normal(size=(T + 1, L, OBSERVATION_SIZE)),
        "achieved_goal": walk,
        "desired_goal": np.broadcast_to(goal, walk.shape).copy(),
    }
    truncated = np.zeros((T, L), bool)
    truncated[-1] = True
    return Episode(
        observation=observation,
        action=rng.uniform(-1.0, 1.0, (T, L, ACTION_SIZE)).astype(np.float32),
        reward=compute_reward(walk[1:], observation["desired_goal"][1:], None),
        terminated=np.zeros((T, L), bool),
        truncated=truncated,
    )


def steps_of(episode: Episode) -> list[Step]:
    """The episode as vector steps, in order."""
    rows = [
        {key: leaf[t] for key, leaf in episode.observation.items()}
        for t in range(EPISODE_STEPS + 1)
    ]
    return [
        Step(
            rows[t],
            episode.action[t],
            episode.reward[t],
            episode.terminated[t],
            episode.truncated[t],
            rows[t + 1],
        )
        for t in range(EPISODE_STEPS)
    ]


class Transitions(NamedTuple):
    """Transitions of whole episodes, one episode after another, all floats float32: N of them."""

    observation: Observation  # [N, size]
    action: Array  # [N, ACTION_SIZE]
    reward: Array  # [N]
    terminated: Array  # [N] bool
    truncated: Array  # [N] bool
    next_observation: Observation  # [N, size]


def make_transitions(rng: np.random.Generator, count: int) -> Transitions:
    """Draw as many of FetchPush's shapes; the count is a multiple of an episode's steps."""
    episodes = make_episode(rng, count // EPISODE_STEPS)

    def in_a_row(leaf: Array) -> Array:
        flat: Array = leaf.swapaxes(0, 1).reshape(count, *leaf.shape[2:])
        return flat.astype(np.float32) if flat.dtype == np.float64 else flat

    def both(rows: slice) -> Observation:
        return {key: in_a_row(leaf[rows]) for key, leaf in episodes.observation.items()}

    return Transitions(
        observation=both(slice(None, -1)),
        action=in_a_row(episodes.action),
        reward=in_a_row(episodes.reward),
        terminated=in_a_row(episodes.terminated),
        truncated=in_a_row(episodes.truncated),
        next_observation=both(slice(1, None)),
    )


def make_small_transitions(rng: np.random.Generator, count: int) -> Transitions:
    """The same episodes with a flat observation, under the key `observation`."""
    transitions = make_transitions(rng, count)

    def few(observation: Observation) -> Observation:
        leaf = observation["observation"][:, :SMALL_OBSERVATION_SIZE]
        return {"observation": np.ascontiguousarray(leaf)}

    return transitions._replace(
        observation=few(transitions.observation),
        next_observation=few(transitions.next_observation),
    )
