"""A buffer and its reference, given the same history."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.reference.frames import Frames
from tests.reference.goals import Source
from tests.reference.priorities import ReferencePriorities
from tests.reference.replay import ReferenceReplay
from tests.replay import worlds
from tests.replay.histories import Add, Cut, Plan, play

from woodshed.replay import Batch, FrameStack, Hindsight, Priorities, ReplayBuffer, SequenceBatch

GEOMETRIC_DISCOUNT = 0.9
"""As the reference has it."""


class Filled(NamedTuple):
    """A buffer, and what is to be expected of it."""

    buffer: ReplayBuffer
    reference: ReferenceReplay
    priorities: ReferencePriorities | None


def make_buffer(plan: Plan, source: Source | None, storage: Path | None = None) -> ReplayBuffer:
    """The buffer that a plan asks for, still empty."""
    hindsight = None
    if source is not None:
        hindsight = Hindsight(
            source,  # type: ignore[arg-type]
            k=plan.k if isinstance(source, str) else None,
            compute_reward=worlds.compute_reward,
            compute_terminated=worlds.compute_terminated if plan.with_compute_terminated else None,
            geometric_discount=GEOMETRIC_DISCOUNT,
        )
    return ReplayBuffer(
        worlds.observation_space(plan.kind),
        worlds.action_space(plan.kind),
        plan.capacity,
        n_envs=plan.n_envs,
        gamma=plan.gamma,
        n_step=plan.n_step,
        hindsight=hindsight,
        priorities=None if plan.priorities is None else Priorities(**plan.priorities._asdict()),
        frames=None if plan.frames is None else frame_stack(plan.frames),
        info_space=worlds.info_space() if plan.with_info else None,
        recurrent_state_space=worlds.recurrent_state_space() if plan.with_state else None,
        storage=storage,
        seed=plan.seed,
    )


def frame_stack(frames: Frames) -> FrameStack:
    return FrameStack(frames.k, "zero" if frames.zero else "repeat")


def make(plan: Plan, source: Source | None) -> Filled:
    """Both, still empty."""
    reference = ReferenceReplay(plan.capacity, plan.n_envs, plan.frames)
    priorities = None
    if plan.priorities is not None:
        priorities = ReferencePriorities(reference, *plan.priorities)
    return Filled(make_buffer(plan, source), reference, priorities)


def write(call: Add | Cut, filled: Filled) -> None:
    """One call of a history to both."""
    if isinstance(call, Add):
        filled.reference.add(*call)
        filled.buffer.add(**call._asdict())
    else:
        filled.reference.cut(call.mask)
        filled.buffer.cut(call.mask)
    if filled.priorities is not None:
        filled.priorities.follow()


def fill(plan: Plan, source: Source | None) -> Filled:
    """Both after the whole history."""
    filled = make(plan, source)
    for call in play(plan):
        write(call, filled)
    return filled


def update(filled: Filled, handle: NDArray[Any], priority: NDArray[Any]) -> None:
    """Give both the same priorities."""
    buffer, _, reference = filled
    assert reference is not None
    dropped = reference.update(handle.tolist(), priority.tolist())
    assert buffer.update_priorities(handle, priority) == dropped
    assert buffer.stale_priorities == reference.stale


def desired_goals(batch: Batch | SequenceBatch) -> NDArray[Any]:
    """The goals of a batch, `[batch, goal]`; `[batch, time, goal]` of sequences."""
    assert isinstance(batch.observation, dict)
    desired = batch.observation["desired_goal"]
    assert isinstance(desired, np.ndarray)
    return desired


def scribble(tree: Any) -> None:
    """Overwrite every array of a tree: nobody else may see it."""
    for leaf in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(leaf, dict | tuple):
            scribble(leaf)
        elif isinstance(leaf, np.ndarray):
            leaf[...] = 77
