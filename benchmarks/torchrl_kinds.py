"""Worker: TorchRL's kinds of sampling. Runs in the peer's environment, without woodshed."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

# TorchRL's segment trees lie in a library that wants symbols of the very torch that it was built
# with. Those that this torch lacks are of autograd, which no replay calls: resolved when called.
sys.setdlopenflags(os.RTLD_LAZY)

from tensordict import TensorDict  # noqa: E402
from torchrl.data import (  # noqa: E402
    HERReplayBuffer,
    LazyTensorStorage,
    ReplayBuffer,
    TensorDictReplayBuffer,
)
from torchrl.data.replay_buffers.samplers import (  # noqa: E402
    PrioritizedSampler,
    RandomSampler,
    SliceSampler,
)
from torchrl.envs.transforms.rb_transforms import MultiStepTransform  # noqa: E402

from benchmarks import kinds_worker as kinds  # noqa: E402
from benchmarks import workload  # noqa: E402

PACKAGES = ("torchrl", "tensordict", "torch", "numpy")
PIECE = 1_000
"""Transitions that are added at a time for returns of several steps: the transform's memory grows
with transitions times episodes."""


def tensordict_of(transitions: workload.Transitions) -> Any:
    """The transitions under TorchRL's names, one after another."""

    def tensors(leaves: workload.Observation) -> dict[str, Any]:
        return {key: torch.from_numpy(leaf) for key, leaf in leaves.items()}

    ends = {
        "reward": transitions.reward,
        "terminated": transitions.terminated,
        "truncated": transitions.truncated,
        "done": transitions.terminated | transitions.truncated,
    }
    fields: dict[str, Any] = {
        **tensors(transitions.observation),
        "action": torch.from_numpy(transitions.action),
        "next": {
            **tensors(transitions.next_observation),
            **tensors({key: leaf[:, None] for key, leaf in ends.items()}),
        },
    }
    return TensorDict(fields, batch_size=[len(transitions.reward)])


def sparse_reward(relabelled: Any) -> Any:
    """Fetch's sparse reward of what HERReplayBuffer hands over."""
    off = relabelled["next", "achieved_goal"] - relabelled["desired_goal"]
    return -(off.norm(dim=-1, keepdim=True) > workload.DISTANCE_THRESHOLD).float()


def make(
    transitions: int,
    *,
    make_transitions: Callable[..., workload.Transitions] = workload.make_transitions,
    buffer: Callable[..., Any] = ReplayBuffer,
    sampler: Callable[[int], Any] = lambda capacity: RandomSampler(),
    batch: int = kinds.BATCH,
    n_step: int = 1,
    prioritised: bool = False,
) -> kinds.Filled:
    """A full buffer over a `LazyTensorStorage`."""
    spare = kinds.STEPS if n_step > 1 else 0  # the transform keeps the last rows for itself
    made = buffer(
        storage=LazyTensorStorage(transitions), sampler=sampler(transitions), batch_size=batch
    )
    if n_step > 1:
        made.append_transform(MultiStepTransform(n_step, kinds.GAMMA))
    more = workload.EPISODE_STEPS if spare else 0
    rows = tensordict_of(make_transitions(np.random.default_rng(0), transitions + more))
    rows = rows[: transitions + spare]
    for piece in rows.split(PIECE if n_step > 1 else len(rows)):
        made.extend(piece)

    def update(sampled: Any, priorities: workload.Array) -> None:
        made.update_priority(sampled["index"], torch.from_numpy(priorities))

    return kinds.Filled(made.sample, len(made), update if prioritised else None)


MAKERS: kinds.Makers = {
    kinds.SMALL: partial(make, make_transitions=workload.make_small_transitions),
    kinds.PLAIN: make,
    kinds.N_STEP: partial(make, n_step=kinds.STEPS),
    kinds.HINDSIGHT: partial(make, buffer=partial(HERReplayBuffer, sparse_reward, her_ratio=0.8)),
    kinds.PRIORITISED: partial(
        make,
        buffer=partial(TensorDictReplayBuffer, priority_key="td_error"),
        sampler=partial(PrioritizedSampler, alpha=kinds.ALPHA, beta=kinds.BETA),
        prioritised=True,
    ),
    kinds.SEQUENCES: partial(
        make,
        buffer=TensorDictReplayBuffer,
        sampler=lambda capacity: SliceSampler(
            slice_len=kinds.SEQUENCE_STEPS, end_key=("next", "done"), cache_values=True
        ),
        batch=kinds.SEQUENCE_COUNT * kinds.SEQUENCE_STEPS,
    ),
}

if __name__ == "__main__":
    torch.set_num_threads(1)  # as for Stable-Baselines3
    kinds.main(MAKERS, PACKAGES)
