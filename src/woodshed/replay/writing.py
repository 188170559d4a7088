"""Writing: steps are laid out as records beside the store, checked, and then appended."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.replay.records import Field, RecordLayout, as_records, records_dtype
from woodshed.replay.store import (
    NEXT_NOT_FINITE,
    NOT_CONTINUING,
    OK,
    TERMINATED,
    TRUNCATED,
    Store,
    append,
    arrays_of,
)
from woodshed.replay.tree import Leaf, TreeLike, flatten


class Staging(NamedTuple):
    """Room for M transitions.

    Attributes:
        record: `[M, words]` observation, action, reward and info.
        following: `[M, observation words]` the observations that they led to.
        fields: views of `record`, in the order of the layout's fields.
        following_fields: views of `following`.
    """

    record: NDArray[np.uint32]
    following: NDArray[np.uint32]
    fields: list[NDArray[Any]]
    following_fields: list[NDArray[Any]]


class Step(NamedTuple):
    """The arrays of M transitions, checked, in the order of the layout's fields."""

    arrays: list[NDArray[Any]]
    following: list[NDArray[Any]]
    ending: NDArray[np.uint8]


def make_staging(layout: RecordLayout, count: int) -> Staging:
    """Room for `count` transitions; padding stays zero."""
    record = np.zeros((count, layout.words), np.uint32)
    following = np.zeros((count, layout.observation_words), np.uint32)
    return Staging(
        record,
        following,
        _views(record, layout.fields),
        _views(following, layout.observation),
    )


def _views(words: NDArray[np.uint32], fields: Sequence[Field]) -> list[NDArray[Any]]:
    records = as_records(words, records_dtype(fields, words.shape[1]))
    return [records[field.leaf.name] for field in fields]


def check_step(
    layout: RecordLayout,
    count: int,
    *,
    observation: TreeLike,
    action: TreeLike,
    reward: TreeLike,
    terminated: TreeLike,
    truncated: TreeLike,
    next_observation: TreeLike,
    info: Mapping[str, TreeLike] | None,
    recurrent_state: TreeLike | None,
) -> Step:
    """Take the arrays of `count` transitions apart; see `ReplayBuffer.add`.

    Raises:
        WoodshedError: for a wrong key or shape.
    """
    info = info or {}
    if (info or layout.info) and info.keys() != layout.info_keys:
        raise WoodshedError(
            f"info has the keys {sorted(info)}, expected {sorted(layout.info_keys)} as declared "
            "in info_space"
        )
    if (recurrent_state is None) != (not layout.state):
        found = "a" if recurrent_state is not None else "no"
        raise WoodshedError(
            f"{found} recurrent_state was given, expected "
            f"{[leaf.name for leaf in layout.state_leaves] or 'none'} as declared in "
            "recurrent_state_space"
        )
    leaves = layout.observation_leaves
    arrays = [
        *flatten(observation, leaves, count),
        *flatten(action, [layout.action.leaf], count),
        *flatten(reward, [layout.reward.leaf], count),
    ]
    if layout.info:
        arrays += flatten(info, layout.info_leaves, count)
    if layout.state:
        arrays += flatten(recurrent_state, layout.state_leaves, count)
    following = flatten(next_observation, layout.next_leaves, count)
    ending = flags(terminated, "terminated", count) * np.uint8(TERMINATED)
    ending |= flags(truncated, "truncated", count) * np.uint8(TRUNCATED)
    return Step(arrays, following, ending)


def flags(value: TreeLike, name: str, count: int) -> NDArray[np.bool_]:
    """`[count]` bools.

    Raises:
        WoodshedError: for another shape.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.bool_ and value.shape == (count,):
        return value
    leaf = Leaf((name,), (), np.dtype(np.bool_))
    return flatten(value, [leaf], count)[0].astype(np.bool_)


def write(
    store: Store,
    layout: RecordLayout,
    staging: Staging,
    step: Step,
    lane_of: NDArray[np.int64],
    new_leaf: float,
    behind: int,
) -> None:
    """Append transitions to the store, all or none.

    Args:
        store: changed.
        layout: of its records.
        staging: with room for them; overwritten.
        step: the transitions.
        lane_of: `[M]` the lane of each; -1 leaves it out. Neighbours of one lane go on from one
            another.
        new_leaf: what the sum-tree holds of a new one.
        behind: frames before an observation that are stacked with it.

    Raises:
        WoodshedError: for a number that is not finite, or an observation that does not continue its
            lane's episode.
    """
    for target, source in zip(staging.fields, step.arrays, strict=True):
        target[...] = source
    for target, source in zip(staging.following_fields, step.following, strict=True):
        target[...] = source
    problem, m, word = append(
        arrays_of(store),
        staging.record,
        staging.following,
        step.ending,
        lane_of,
        layout.exponent_mask,
        new_leaf,
        behind,
    )
    if problem != OK:
        field = layout.field_at(word)
        raise WoodshedError(_complaint(problem, m, int(lane_of[m]), field, layout, staging))


def _complaint(
    problem: int, m: int, lane: int, field: Field, layout: RecordLayout, staging: Staging
) -> str:
    name = field.leaf.name
    if problem == NOT_CONTINUING:
        return (
            f"{name} of environment {lane} is not the next_observation of its last step; if the "
            "environment was reset, mark that step as truncated or call cut() first"
        )
    views = staging.fields
    if problem == NEXT_NOT_FINITE:
        name, views = f"next_{name}", staging.following_fields
    value = views[layout.fields.index(field)][m]
    found = value[~np.isfinite(value)][0]
    return (
        f"{name} of environment {lane} holds {found}; expected finite numbers: nothing of this "
        "was stored"
    )
