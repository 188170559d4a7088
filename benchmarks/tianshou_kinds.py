"""Worker: Tianshou's kinds of sampling. Runs in the peer's environment, without woodshed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from tianshou.algorithm.algorithm_base import Algorithm
from tianshou.data import (
    Batch,
    HERVectorReplayBuffer,
    PrioritizedVectorReplayBuffer,
    VectorReplayBuffer,
)

from benchmarks import kinds_worker as kinds
from benchmarks import workload

PACKAGES = ("tianshou", "torch", "numpy", "numba")


def batch_of(rows: workload.Transitions) -> Any:
    """The transitions as Tianshou's batch, flat where the observation has one leaf only."""

    def observation(leaves: workload.Observation) -> Any:
        return Batch(leaves) if len(leaves) > 1 else next(iter(leaves.values()))

    return Batch(
        obs=observation(rows.observation),
        act=rows.action,
        rew=rows.reward.astype(np.float64),  # as `add` stores it
        terminated=rows.terminated,
        truncated=rows.truncated,
        done=rows.terminated | rows.truncated,
        obs_next=observation(rows.next_observation),
    )


def fill(buffer: Any, rows: workload.Transitions) -> None:
    """Fill the buffer to its capacity: `set_batch`, and the counters that `add` keeps."""
    buffer.set_batch(batch_of(rows))
    for number, part in enumerate(buffer.buffers):
        part._size, part._insertion_idx, part._ep_start_idx = part.maxsize, 0, 0
        part.last_index[0] = part.maxsize - 1
        buffer._lengths[number] = part.maxsize
        buffer.last_index[number] = buffer._offset[number] + part.maxsize - 1
    if isinstance(buffer, PrioritizedVectorReplayBuffer):
        buffer.init_weight(np.arange(buffer.maxsize))


def add(buffer: Any, rows: workload.Transitions) -> None:
    """The same with the library's own `add`."""
    batch = batch_of(rows)
    for step in range(buffer.maxsize // kinds.N_ENVS):
        buffer.add(batch[buffer._offset + step])


def check_fill(empty: Callable[[int], Any]) -> None:
    """Stop the benchmark where `fill` and the library's own `add` disagree."""
    size = 2 * kinds.N_ENVS * workload.EPISODE_STEPS
    rows = workload.make_transitions(np.random.default_rng(0), size)
    bulk, single = empty(size), empty(size)
    fill(bulk, rows)
    add(single, rows)
    same = np.testing.assert_array_equal
    for ours, theirs in ((bulk, single), *zip(bulk.buffers, single.buffers, strict=True)):
        for key in ("obs.observation", "obs_next.desired_goal", "act", "rew", "done", "truncated"):
            name, _, leaf = key.partition(".")
            one, other = (getattr(each._meta, name) for each in (ours, theirs))
            same(one[leaf] if leaf else one, other[leaf] if leaf else other, err_msg=key)
        same(len(ours), len(theirs))
        same(ours.last_index, theirs.last_index)
    for ours, theirs in zip(bulk.buffers, single.buffers, strict=True):
        same(ours._insertion_idx, theirs._insertion_idx)
    same(bulk._lengths, single._lengths)
    if isinstance(bulk, PrioritizedVectorReplayBuffer):
        same(bulk.weight._value, single.weight._value)


def returns_of(buffer: Any) -> Any:
    """A sample with returns of several steps, as an algorithm's preprocessing makes it."""
    batch, indices = buffer.sample(kinds.BATCH)

    def no_value(replay: Any, ends: workload.Array) -> Any:
        batch.bootstrap = replay[ends].obs_next  # what the critic would be asked about
        return torch.zeros(len(ends))

    return Algorithm.compute_nstep_return(
        batch, buffer, indices, no_value, kinds.GAMMA, kinds.STEPS
    )


def make(
    transitions: int,
    *,
    buffer: Callable[..., Any] = VectorReplayBuffer,
    make_transitions: Callable[..., workload.Transitions] = workload.make_transitions,
    batch: int = kinds.BATCH,
    n_step: bool = False,
    prioritised: bool = False,
) -> kinds.Filled:
    """A full buffer of eight environments."""

    def empty(size: int) -> Any:
        return buffer(total_size=size, buffer_num=kinds.N_ENVS)

    check_fill(empty)
    made = empty(transitions)
    fill(made, make_transitions(np.random.default_rng(0), transitions))

    def update(sampled: Any, priorities: workload.Array) -> None:
        made.update_weight(sampled[1], priorities)

    sample = partial(returns_of, made) if n_step else partial(made.sample, batch)
    return kinds.Filled(sample, len(made), update if prioritised else None)


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(make, make_transitions=workload.make_small_transitions),
    kinds.PLAIN: make,
    kinds.N_STEP: partial(make, n_step=True),
    kinds.HINDSIGHT: partial(
        make,
        buffer=partial(
            HERVectorReplayBuffer,
            compute_reward_fn=partial(workload.compute_reward, info=None),
            horizon=workload.EPISODE_STEPS,
            future_k=workload.GOALS_PER_TRANSITION + 1,  # 1 - 1/k of the episodes: four of five
        ),
    ),
    kinds.PRIORITISED: partial(
        make,
        buffer=partial(PrioritizedVectorReplayBuffer, alpha=kinds.ALPHA, beta=kinds.BETA),
        prioritised=True,
    ),
    kinds.SEQUENCES: partial(
        make,
        buffer=partial(VectorReplayBuffer, stack_num=kinds.SEQUENCE_STEPS),
        batch=kinds.SEQUENCE_COUNT,
    ),
}

if __name__ == "__main__":
    torch.set_num_threads(1)  # as for Stable-Baselines3
    kinds.main(MAKERS, PACKAGES)
