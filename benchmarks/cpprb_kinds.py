"""Worker: cpprb's kinds of sampling. Runs in the peer's environment, without woodshed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import cpprb
import numpy as np

from benchmarks import kinds_worker as kinds
from benchmarks import workload

PACKAGES = ("cpprb", "numpy")


def next_of(leaves: workload.Observation) -> workload.Observation:
    """The leaves under the names of the next ones."""
    return {f"next_{key}": leaf for key, leaf in leaves.items()}


def fields_of(transitions: workload.Transitions) -> dict[str, workload.Array]:
    """The transitions under cpprb's names; a time limit is no `done`."""
    return {
        **transitions.observation,
        **next_of(transitions.next_observation),
        "act": transitions.action,
        "rew": transitions.reward,
        "done": transitions.terminated,
    }


def shapes_of(fields: dict[str, workload.Array]) -> dict[str, dict[str, int]]:
    """What cpprb calls `env_dict`; all is float32 by default."""
    return {key: {"shape": leaf.shape[1] if leaf.ndim > 1 else 1} for key, leaf in fields.items()}


def make(
    transitions: int,
    *,
    make_transitions: Callable[..., workload.Transitions] = workload.make_transitions,
    n_step: bool = False,
) -> kinds.Filled:
    """A full `ReplayBuffer`; returns of several steps are summed when added, by the episode."""
    rows = make_transitions(np.random.default_rng(0), transitions)
    fields = fields_of(rows)
    returns = {
        "size": kinds.STEPS,
        "gamma": kinds.GAMMA,
        "rew": "rew",
        "next": list(next_of(rows.next_observation)),
    }
    buffer = cpprb.ReplayBuffer(transitions, shapes_of(fields), Nstep=returns if n_step else None)
    piece = workload.EPISODE_STEPS if n_step else transitions
    for start in range(0, transitions, piece):
        buffer.add(**{key: leaf[start : start + piece] for key, leaf in fields.items()})
        buffer.on_episode_end()
    return kinds.Filled(partial(buffer.sample, kinds.BATCH), buffer.get_stored_size())


def make_prioritised(transitions: int) -> kinds.Filled:
    """A full `PrioritizedReplayBuffer`."""
    fields = fields_of(workload.make_transitions(np.random.default_rng(0), transitions))
    buffer = cpprb.PrioritizedReplayBuffer(transitions, shapes_of(fields), alpha=kinds.ALPHA)
    buffer.add(**fields)

    def update(batch: Any, priorities: workload.Array) -> None:
        buffer.update_priorities(batch["indexes"], priorities)

    sample = partial(buffer.sample, kinds.BATCH, beta=kinds.BETA)
    return kinds.Filled(sample, buffer.get_stored_size(), update)


def make_hindsight(transitions: int) -> kinds.Filled:
    """A full `HindsightReplayBuffer`: each row is stored with its goal, relabelled when added."""
    T, size = workload.EPISODE_STEPS, workload.OBSERVATION_SIZE
    copies = 1 + workload.GOALS_PER_TRANSITION
    rows = workload.make_transitions(np.random.default_rng(0), transitions // copies)

    def state(leaves: workload.Observation) -> workload.Array:
        return np.concatenate([leaves["observation"], leaves["achieved_goal"]], axis=1)

    def goal(states: workload.Array) -> workload.Array:
        return states[:, size:]

    fields = {
        "obs": state(rows.observation),
        "next_obs": state(rows.next_observation),
        "act": rows.action,
        "done": rows.terminated,
    }
    buffer = cpprb.HindsightReplayBuffer(
        transitions,
        shapes_of(fields),
        T,
        lambda next_state, action, goals: workload.compute_reward(goal(next_state), goals, None),
        goal_func=goal,
        goal_shape=workload.GOAL_SIZE,
        strategy="future",
        additional_goals=workload.GOALS_PER_TRANSITION,
        prioritized=False,
    )
    for start in range(0, len(rows.reward), T):
        buffer.add(**{key: leaf[start : start + T] for key, leaf in fields.items()})
        buffer.on_episode_end(rows.observation["desired_goal"][start])
    return kinds.Filled(partial(buffer.sample, kinds.BATCH), buffer.get_stored_size())


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(make, make_transitions=workload.make_small_transitions),
    kinds.PLAIN: make,
    kinds.N_STEP: partial(make, n_step=True),
    kinds.HINDSIGHT: make_hindsight,
    kinds.PRIORITISED: make_prioritised,
}

if __name__ == "__main__":
    kinds.main(MAKERS, PACKAGES)
