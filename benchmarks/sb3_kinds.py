"""Worker: Stable-Baselines3's kinds of sampling. Runs in the peer's environment."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer

from benchmarks import kinds_worker as kinds
from benchmarks import sb3_replay, workload

Flatten = Callable[[workload.Observation], workload.Array]


def joined(leaves: workload.Observation) -> workload.Array:
    """The whole observation as one vector, which is all that `NStepReplayBuffer` takes."""
    return np.concatenate(list(leaves.values()), axis=-1)


def first(leaves: workload.Observation) -> workload.Array:
    """The only leaf of a flat observation."""
    return next(iter(leaves.values()))


def in_lanes(leaf: workload.Array, n_envs: int) -> workload.Array:
    """The rows `[N, …]` as `[N / n_envs, n_envs, …]`, each environment's own in a row."""
    return leaf.reshape(n_envs, -1, *leaf.shape[1:]).swapaxes(0, 1)


def fill(buffer: Any, rows: workload.Transitions, flatten: Flatten) -> None:
    """Fill a buffer of flat observations to its capacity, writing its arrays directly."""
    lanes = partial(in_lanes, n_envs=buffer.n_envs)
    buffer.observations[:] = lanes(flatten(rows.observation))
    buffer.next_observations[:] = lanes(flatten(rows.next_observation))
    buffer.actions[:] = lanes(rows.action)
    buffer.rewards[:] = lanes(rows.reward)
    buffer.dones[:] = buffer.timeouts[:] = lanes(rows.truncated)
    buffer.pos, buffer.full = 0, True


def add(buffer: Any, rows: workload.Transitions, flatten: Flatten) -> None:
    """The same with the library's own `add`."""
    names = (rows.observation, rows.next_observation)
    leaves = [in_lanes(flatten(each), buffer.n_envs) for each in names]
    others = (rows.action, rows.reward, rows.truncated)
    leaves += [in_lanes(each, buffer.n_envs) for each in others]
    for step in zip(*leaves, strict=True):
        infos = [{"TimeLimit.truncated": bool(end)} for end in step[-1]]
        buffer.add(*step, infos)


def make_flat(
    transitions: int,
    *,
    buffer: Callable[..., Any] = ReplayBuffer,
    make_transitions: Callable[..., workload.Transitions],
    flatten: Flatten,
) -> kinds.Filled:
    """A full buffer of flat observations, after a check that `fill` leaves what `add` leaves."""

    def empty(rows: workload.Transitions) -> Any:
        size = flatten(rows.observation).shape[1]
        space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        capacity = len(rows.reward)
        return buffer(capacity, space, workload.action_space(), device="cpu", n_envs=kinds.N_ENVS)

    few = make_transitions(np.random.default_rng(0), 2 * kinds.N_ENVS * workload.EPISODE_STEPS)
    bulk, single = empty(few), empty(few)
    fill(bulk, few, flatten)
    add(single, few, flatten)
    sb3_replay.check_same(bulk, single)
    rows = make_transitions(np.random.default_rng(0), transitions)
    made = empty(rows)
    fill(made, rows, flatten)
    return kinds.Filled(partial(made.sample, kinds.BATCH), made.buffer_size * made.n_envs)


def make_goals(transitions: int, *, hindsight: bool) -> kinds.Filled:
    """A full `DictReplayBuffer` or `HerReplayBuffer`."""
    sb3_replay.check_fill()
    made = sb3_replay.full_buffer(transitions, kinds.N_ENVS, hindsight=hindsight, dtype=np.float32)
    return kinds.Filled(partial(made.sample, kinds.BATCH), made.transitions)


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(
        make_flat, make_transitions=workload.make_small_transitions, flatten=first
    ),
    kinds.PLAIN: partial(make_goals, hindsight=False),
    kinds.N_STEP: partial(
        make_flat,
        buffer=partial(NStepReplayBuffer, n_steps=kinds.STEPS, gamma=kinds.GAMMA),
        make_transitions=workload.make_transitions,
        flatten=joined,
    ),
    kinds.HINDSIGHT: partial(make_goals, hindsight=True),
}

if __name__ == "__main__":
    torch.set_num_threads(1)  # as in sb3_replay
    kinds.main(MAKERS, sb3_replay.PACKAGES)
