"""Whole episodes into the buffer and out of it, against adding step by step."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.episodes import stack_trees, stored_episodes
from tests.reference.replay import Ending, same, take
from tests.replay import worlds
from tests.replay.alike import assert_alike, same_episodes
from tests.replay.drawing import HISTORY
from tests.replay.filling import fill, make_buffer, scribble
from tests.replay.histories import Add, Plan, plans, play, search
from tests.replay.line import POSITION, rows, write_episode

from woodshed.replay import Episode, ReplayBuffer


class Transition(NamedTuple):
    """One step of one lane."""

    observation: Any
    action: Any
    reward: Any
    next_observation: Any
    info: Any
    recurrent_state: Any


class Part(NamedTuple):
    """Some steps of one lane, in one episode."""

    steps: list[Transition]
    ending: Ending


def whole_episodes(plan: Plan, lane: int) -> Iterator[Part]:
    """What a history does in one lane; the last episode may be open."""
    steps: list[Transition] = []
    for call in play(plan):
        ending: Ending = "open"
        if isinstance(call, Add):
            if call.mask is not None and not call.mask[lane]:
                continue
            row = [call.observation, call.action, call.reward, call.next_observation]
            row = [take(leaf, lane) for leaf in [*row, call.info or {}, call.recurrent_state]]
            steps.append(Transition(*row))
            ending = "truncated" if call.truncated[lane] else "open"
            ending = "terminated" if call.terminated[lane] else ending
        elif call.mask is None or call.mask[lane]:
            ending = "cut"
        if ending != "open" and steps:
            yield Part(steps, ending)
            steps = []
    if steps:
        yield Part(steps, "open")


def pieces(part: Part, generator: np.random.Generator) -> Iterator[Part]:
    """An episode cut at random; its ending goes with the last piece."""
    steps, ending = part
    while steps:
        size = min(len(steps), int(generator.choice([1, 2, 5, 50])))
        yield Part(steps[:size], ending if size == len(steps) else "open")
        steps = steps[size:]


def as_episode(part: Part) -> Episode:
    steps, ending = part
    return Episode(
        observation=stack_trees(
            [step.observation for step in steps] + [steps[-1].next_observation]
        ),
        action=np.stack([step.action for step in steps]),
        reward=np.array([step.reward for step in steps]),
        ending=ending,
        info=stack_trees([step.info for step in steps]),
        recurrent_state=stack_trees([step.recurrent_state for step in steps]),
    )


def add_one_by_one(buffer: ReplayBuffer, lane: int, part: Part) -> None:
    """With `add` and `cut`; the other lanes' entries are copies that the mask leaves out."""
    mask = np.arange(buffer.n_envs) == lane
    for i, step in enumerate(part.steps):
        last = i + 1 == len(part.steps)
        arrays = {
            name: stack_trees([leaf] * buffer.n_envs) for name, leaf in step._asdict().items()
        }
        arrays["info"] = arrays["info"] or None
        for name in ("terminated", "truncated"):
            arrays[name] = np.full(buffer.n_envs, last and part.ending == name)
        buffer.add(**arrays, mask=mask)
    if part.ending == "cut":
        buffer.cut(mask)


def check_pieces(plan: Plan, seed: int) -> None:
    """Lanes one after another, in pieces written by `extend` or by `add`."""
    source = {"original": 0.5, "future": 0.5} if plan.kind in worlds.GOAL_KINDS else None
    added, reference, _ = fill(plan, source)
    extended = make_buffer(plan, source)
    generator = np.random.default_rng(seed)
    for lane in range(plan.n_envs):
        for episode in whole_episodes(plan, lane):
            for piece in pieces(episode, generator):
                if generator.random() < 0.3:
                    add_one_by_one(extended, lane, piece)
                    continue
                given = as_episode(piece)
                if given.ending == "cut" and generator.random() < 0.5:
                    extended.extend(lane, given._replace(ending="open"))
                    extended.cut(np.arange(plan.n_envs) == lane)
                else:
                    extended.extend(lane, given)
                scribble(given)
    assert same_episodes(added.episodes(), stored_episodes(reference))
    assert_alike(extended, added, plan)


@pytest.mark.parametrize("prioritised", [False, True])
def test_pieces_leave_the_same_buffer_as_single_steps(prioritised: bool) -> None:
    kinds = (*worlds.GOAL_KINDS, "flat", "discrete")

    @hypothesis.seed(int(prioritised))
    @search(20)
    @given(plans(kinds, hindsight=False, prioritised=prioritised), st.integers(0, 999))
    def check(plan: Plan, seed: int) -> None:
        check_pieces(plan, seed)

    check()


def line(*positions: float, ending: Ending = "open", reward: float = 1.0) -> Episode:
    T = len(positions) - 1
    return Episode(
        observation=np.array(positions)[:, None],
        action=np.zeros((T, 1)),
        reward=np.full(T, reward),
        ending=ending,
    )


def make(capacity: int = 100, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, gamma=0.5, **options)


def test_an_episode_by_hand() -> None:
    buffer = make(n_step=2)
    buffer.extend(0, line(0, 1, 2, ending="terminated"))
    buffer.extend(0, line(10, 11, ending="cut"))
    buffer.extend(0, line(11, 12, 13))
    assert rows(buffer) == {
        (0, 2): (1.5, 0, 2),
        (1, 1): (1, 0, 2),
        (10, 1): (1, 0.5, 11),
        (11, 2): (1.5, 0.25, 13),
        (12, 1): (1, 0.5, 13),
    }
    first, second, third = buffer.episodes()
    assert [e.ending for e in (first, second, third)] == ["terminated", "cut", "open"]
    assert same(first.observation, np.array([[0], [1], [2]], np.float32))
    assert same(third.reward, np.array([1, 1], np.float32))


def test_pieces_go_on_as_stored() -> None:
    """0.1 is not a float32."""
    buffer = make(n_step=3)
    buffer.extend(0, line(0, 0.1))
    buffer.extend(0, line(0.1, 0.7))
    write_episode(buffer, [0.7, 5], [1.0], "truncated")
    (episode,) = buffer.episodes()
    assert np.asarray(episode.reward).tolist() == [1.0] * 3


@pytest.mark.parametrize("length", [5, 6, 7, 12, 50])
def test_a_chunk_longer_than_the_ring(length: int) -> None:
    """Six rows: what is left are the last ones, with their handles."""
    buffer = make(capacity=5)
    buffer.extend(0, line(90, 91, ending="truncated"))
    buffer.extend(0, line(*range(length + 1)))
    kept = list(range(length - 5, length + 1))
    (episode,) = buffer.episodes()
    assert same(episode.observation, np.array(kept, np.float32)[:, None])
    assert len(buffer) == 5
    assert set(buffer.sample(200).handle.tolist()) == {2 + row for row in kept[:-1]}


def test_episodes_are_copies() -> None:
    plan = replace(HISTORY, kind="nested", with_info=True)
    buffer, reference, _ = fill(plan, None)
    for episode in buffer.episodes():
        scribble(episode)
    assert same_episodes(buffer.episodes(), stored_episodes(reference))


def test_stored_episodes_can_be_written_to_another_buffer() -> None:
    first, second = make(n_envs=2, capacity=10), make(n_envs=1, capacity=30)
    for lane in (0, 1):
        first.extend(lane, line(lane, 3, 4, 5, ending="truncated"))
        first.extend(lane, line(7, 8, 9, ending="terminated", reward=2.0))
    for episode in first.episodes():
        second.extend(0, episode)
    assert same_episodes(first.episodes(), second.episodes())


def test_an_empty_buffer_has_no_episodes() -> None:
    assert list(make(n_envs=3).episodes()) == []
