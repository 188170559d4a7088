"""Whether two buffers hold and give the same."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tests.reference.replay import same
from tests.replay.filling import Filled, update
from tests.replay.histories import Plan

from woodshed.replay import Episode, ReplayBuffer


def assert_alike(left: ReplayBuffer, right: ReplayBuffer, plan: Plan) -> None:
    """The same episodes, and the same samples bit by bit."""
    assert len(left) == len(right)
    assert same_episodes(left.episodes(), right.episodes())
    if len(left) == 0:
        return
    for size in (1, 50):
        one, other = left.sample(size), right.sample(size)
        assert all(same(a, b) for a, b in zip(one, other, strict=True))
        sequences, others = (
            buffer.sample_sequences(size, plan.length, plan.burn_in) for buffer in (left, right)
        )
        assert all(same(a, b) for a, b in zip(sequences, others, strict=True))
        if plan.priorities is not None:
            for buffer in (left, right):
                buffer.update_priorities(one.handle, np.linspace(0.5, 3.0, size))


def same_episodes(left: Any, right: Any) -> bool:
    left, right = list(left), list(right)
    return len(left) == len(right) and all(
        a.ending == b.ending
        and same(a.observation, b.observation)
        and same(a.action, b.action)
        and same(a.reward, b.reward)
        and same(a.info, b.info)
        and same(a.recurrent_state, b.recurrent_state)
        for a, b in zip(left, right, strict=True)
    )


def flat(tree: Any) -> bytes:
    """All bytes of a tree."""
    if isinstance(tree, dict):
        return b"".join(key.encode() + flat(tree[key]) for key in sorted(tree))
    if tree is None:
        return b"none"
    return str((tree.dtype, tree.shape)).encode() + np.ascontiguousarray(tree).tobytes()


def as_bytes(episode: Episode) -> tuple[bytes, ...]:
    trees = episode._replace(ending="open")
    return tuple(flat(tree) for tree in trees if not isinstance(tree, str))


def contents(buffer: ReplayBuffer, open_is_cut: bool = False) -> Counter[Any]:
    """The episodes as a multiset, whatever their lanes."""
    renamed = {"open": "cut"} if open_is_cut else {}
    return Counter((as_bytes(e), renamed.get(e.ending, e.ending)) for e in buffer.episodes())


def shown(buffer: ReplayBuffer) -> dict[bytes, float]:
    """Every window that can be drawn but for its handle, with its weight over the largest.

    Enough is drawn that one is hardly ever missed: with the priorities of `give_priorities` the
    least likely window is missed once in e^25 runs.
    """
    if len(buffer) == 0:
        return {}
    batch = buffer.sample(100 * len(buffer))
    trees = (batch.observation, batch.action, batch.next_observation)
    columns = (batch.reward, batch.discount, batch.steps, batch.relabelled)
    seen: dict[bytes, float] = {}
    for i in np.unique(batch.handle, return_index=True)[1]:
        key = b"".join(flat(_row(tree, i)) for tree in (*trees, *columns))
        assert key not in seen, "a window under two handles"
        seen[key] = round(float(batch.weight[i]), 5)
    return seen


def _row(tree: Any, i: int) -> Any:
    if isinstance(tree, dict):
        return {key: _row(leaf, i) for key, leaf in tree.items()}
    return np.asarray(tree[i])


def give_priorities(filled: Filled, generator: np.random.Generator) -> None:
    """1, 2 or 4 to every row that can be sampled, and 0 to some."""
    if filled.priorities is not None and len(filled.reference):
        stored = np.array(list(filled.reference.by_handle()))
        update(filled, stored, generator.choice([0.0, 1.0, 2.0, 4.0], stored.size))


def reloaded(saved: ReplayBuffer, into: ReplayBuffer, folder: Path) -> ReplayBuffer:
    """Another buffer with what one holds, over a folder."""
    saved.save(folder)
    into.load(folder)
    return into
