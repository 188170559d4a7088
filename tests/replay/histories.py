"""Random histories of writing, as Hypothesis strategies; small plans that shrink well."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference.frames import Frames
from tests.replay import worlds
from tests.replay.worlds import Kind

Ending = Literal["terminated", "truncated", "both", "cut"]
Strategy = Literal["future", "geometric", "final", "episode", "random"]

EXAMPLES = int(os.environ.get("WOODSHED_EXAMPLES", "2000"))
"""Histories of one run of the comparison with the reference, over all of its cases."""


def search(share: int) -> settings:
    """Hypothesis goes through `EXAMPLES // share` examples, the same ones in every run."""
    return settings(
        max_examples=max(1, EXAMPLES // share),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@dataclass(frozen=True)
class LanePlan:
    """What one environment does; both tuples are gone through again and again."""

    episodes: tuple[tuple[int, Ending], ...]
    """Length and ending of each episode."""
    steps: tuple[bool, ...]
    """In which vector steps it takes part: lanes of different speed."""


class Exponents(NamedTuple):
    """Settings of priorities, named as in `Priorities`."""

    alpha: float
    beta: float
    beta_end: float
    beta_steps: int


@dataclass(frozen=True)
class Plan:
    """One history, and the options of the buffer that is to keep it."""

    kind: Kind
    lanes: tuple[LanePlan, ...]
    vector_steps: int
    cut_all_after: int | None
    goal_moves: bool
    with_info: bool
    capacity: int
    n_step: int | tuple[int, int]
    gamma: float
    k: float
    with_compute_terminated: bool
    sample_every: int
    batch_sizes: tuple[int, ...]
    seed: int
    length: int = 1
    burn_in: int = 0
    priorities: Exponents | None = None
    with_state: bool = False
    frames: Frames | None = None

    @property
    def n_envs(self) -> int:
        return len(self.lanes)


class Add(NamedTuple):
    """The arguments of one `add`."""

    observation: Any
    action: Any
    reward: NDArray[Any]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    next_observation: Any
    info: dict[str, Any] | None
    recurrent_state: Any
    mask: NDArray[np.bool_] | None


class Cut(NamedTuple):
    """The argument of one `cut`."""

    mask: NDArray[np.bool_] | None


def play(plan: Plan) -> Iterator[Add | Cut]:
    """The calls of a history in order; masked-out lanes hold numbers that belong to no episode."""
    at = [(0, 0)] * plan.n_envs  # each lane's (episode, step)
    for t in range(plan.vector_steps):
        mask = np.array([lane.steps[t % len(lane.steps)] for lane in plan.lanes])
        places = [(i, *at[i]) if mask[i] else (i, 255, 200) for i in range(plan.n_envs)]
        endings = [_ending(plan.lanes[i], *at[i]) if mask[i] else None for i in range(plan.n_envs)]
        yield _add(plan, places, endings, None if mask.all() else mask.copy())
        cut = np.array([ending == "cut" for ending in endings])
        if cut.any():
            yield Cut(cut)
        for i in range(plan.n_envs):
            if mask[i]:
                episode, step = at[i]
                at[i] = (episode, step + 1) if endings[i] is None else (episode + 1, 0)
        if t == plan.cut_all_after:
            yield Cut(None)
            at = [(episode + 1, 0) for episode, _ in at]


def _ending(lane: LanePlan, episode: int, step: int) -> Ending | None:
    length, ending = lane.episodes[episode % len(lane.episodes)]
    return ending if step + 1 == length else None


def _add(
    plan: Plan,
    places: list[tuple[int, int, int]],
    endings: list[Ending | None],
    mask: NDArray[np.bool_] | None,
) -> Add:
    def look(lane: int, episode: int, step: int) -> Any:
        return worlds.observation(plan.kind, lane, episode, step, plan.goal_moves)

    return Add(
        observation=worlds.stack([look(*place) for place in places]),
        action=worlds.stack([worlds.action(plan.kind, *place) for place in places]),
        reward=np.array([worlds.reward(*place) for place in places]),
        terminated=np.array([ending in ("terminated", "both") for ending in endings]),
        truncated=np.array([ending in ("truncated", "both") for ending in endings]),
        next_observation=worlds.stack([look(i, e, s + 1) for i, e, s in places]),
        info=worlds.stack([worlds.info(*place) for place in places]) if plan.with_info else None,
        recurrent_state=worlds.stack([worlds.recurrent_state(*place) for place in places])
        if plan.with_state
        else None,
        mask=mask,
    )


_ENDINGS: tuple[Ending, ...] = ("terminated", "truncated", "both", "cut")


def _lanes() -> st.SearchStrategy[LanePlan]:
    length = st.one_of(st.integers(1, 4), st.integers(1, 30))
    episodes = st.lists(st.tuples(length, st.sampled_from(_ENDINGS)), min_size=1, max_size=5)
    mask = st.lists(st.booleans(), min_size=1, max_size=5)
    always = st.just((True,))
    steps = st.one_of(always, mask.map(tuple))
    return st.builds(LanePlan, episodes=episodes.map(tuple), steps=steps)


class Options(NamedTuple):
    """What is chosen together, so that every value comes up about as often as the others."""

    kind: Kind
    n_step: int | tuple[int, int]
    gamma: float
    k: float
    with_compute_terminated: bool
    with_info: bool
    goal_moves: bool


class Size(NamedTuple):
    """How much is written, kept and sampled."""

    capacity: int
    vector_steps: int
    sample_every: int
    batch_sizes: tuple[int, ...]


_SIZES = [
    Size(*choice)
    for choice in product(
        (60, 5, 20, 40, 10, 200, 1), (30, 5, 12, 20, 80), (40, 7, 18), ((1,), (16,), (30,))
    )
]


_SHAPES = [*product((1, 3, 2, 7), (0, 2, 1, 4))]
"""Steps to learn from and burn-in of the sequences."""

_FRAMES = [None, Frames(2), Frames(4, zero=True)]

_EXPONENTS = [
    Exponents(*choice)
    for choice in product((1.0, 0.6, 0.3), (0.4, 0.0, 1.0), (1.0, 0.5), (40, 1, 10_000))
]


def _options(kinds: tuple[Kind, ...], hindsight: bool) -> list[Options]:
    steps: tuple[int | tuple[int, int], ...] = (1, 3, (1, 5), (2, 2), 10)
    k = (4.0, 1e9, 1e9, 0.5, 0.0) if hindsight else (0.0,)
    flags = (False, True)
    terminated = flags if hindsight else (False,)
    return [
        Options(*choice)
        for choice in product(kinds, steps, (0.99, 0.5, 1.0), k, terminated, flags, flags)
    ]


def plans(
    kinds: tuple[Kind, ...], hindsight: bool, prioritised: bool = False
) -> st.SearchStrategy[Plan]:
    """Plans over all options; without `hindsight` those that only it uses stay as they are."""

    def make(
        options: Options,
        size: Size,
        shape: tuple[int, int],
        lanes: list[LanePlan],
        frames: Frames | None,
        **other: Any,
    ) -> Plan:
        length, burn_in = shape
        if frames is not None:  # a lane must hold a stack
            size = size._replace(capacity=max(size.capacity, frames.k * len(lanes)))
        return Plan(
            **options._asdict(),
            **size._asdict(),
            lanes=tuple(lanes),
            length=length,
            burn_in=burn_in,
            frames=frames,
            **other,
        )

    return st.builds(
        make,
        options=st.sampled_from(_options(kinds, hindsight)),
        size=st.sampled_from(_SIZES),
        shape=st.sampled_from(_SHAPES),
        frames=st.sampled_from(_FRAMES),
        lanes=st.lists(_lanes(), min_size=1, max_size=8),
        cut_all_after=st.one_of(st.none(), st.integers(0, 40)),
        seed=st.integers(0, 2**32 - 1),
        with_state=st.booleans(),
        priorities=st.sampled_from(_EXPONENTS) if prioritised else st.none(),
    )
