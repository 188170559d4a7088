"""A buffer and its reference, given the same history."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.replay import ReferenceReplay
from tests.replay import worlds
from tests.replay.histories import Add, Cut, Plan, Strategy, play

from woodshed.replay import Batch, Hindsight, ReplayBuffer


def make_buffer(plan: Plan, strategy: Strategy | None) -> ReplayBuffer:
    """The buffer that a plan asks for, still empty."""
    hindsight = None
    if strategy is not None:
        hindsight = Hindsight(
            strategy,
            k=plan.k,
            compute_reward=worlds.compute_reward,
            compute_terminated=worlds.compute_terminated if plan.with_compute_terminated else None,
        )
    return ReplayBuffer(
        worlds.observation_space(plan.kind),
        worlds.action_space(plan.kind),
        plan.capacity,
        n_envs=plan.n_envs,
        gamma=plan.gamma,
        n_step=plan.n_step,
        hindsight=hindsight,
        info_space=worlds.info_space() if plan.with_info else None,
        seed=plan.seed,
    )


def write(call: Add | Cut, buffer: ReplayBuffer, reference: ReferenceReplay) -> None:
    """One call of a history to both."""
    if isinstance(call, Add):
        reference.add(*call)
        buffer.add(**call._asdict())
    else:
        reference.cut(call.mask)
        buffer.cut(call.mask)


def fill(plan: Plan, strategy: Strategy | None) -> tuple[ReplayBuffer, ReferenceReplay]:
    """Both after the whole history."""
    buffer, reference = make_buffer(plan, strategy), ReferenceReplay(plan.capacity, plan.n_envs)
    for call in play(plan):
        write(call, buffer, reference)
    return buffer, reference


def desired_goals(batch: Batch) -> NDArray[Any]:
    """The goals of a batch, `[batch, goal]`."""
    assert isinstance(batch.observation, dict)
    desired = batch.observation["desired_goal"]
    assert isinstance(desired, np.ndarray)
    return desired
