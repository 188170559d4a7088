"""Random histories with saves and loads in between: as if there had been none."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replay.alike import assert_alike
from tests.replay.filling import make_buffer
from tests.replay.histories import Add, Plan, plans, play, search
from tests.replay.test_episode import as_episode, whole_episodes

from woodshed.replay import ReplayBuffer, segments
from woodshed.replay.saved import read_about

pytestmark = pytest.mark.usefixtures("small_segments")

Call = Callable[[ReplayBuffer], None]


def calls(plan: Plan) -> Iterator[Call]:
    """A history step by step, then its episodes by `extend`, then its first steps once more."""

    def steps() -> Iterator[Call]:
        for call in play(plan):
            if isinstance(call, Add):
                yield lambda buffer, call=call: buffer.add(**call._asdict())  # type: ignore[misc]
            else:
                yield lambda buffer, call=call: buffer.cut(call.mask)  # type: ignore[misc]

    yield from steps()
    yield lambda buffer: buffer.cut()
    for lane in range(plan.n_envs):
        for part in whole_episodes(plan, lane):
            episode = as_episode(part)
            yield lambda buffer, i=lane, one=episode: buffer.extend(i, one)  # type: ignore[misc]
    yield lambda buffer: buffer.cut()
    yield from list(steps())[:9]


def learn(*buffers: ReplayBuffer) -> None:
    """Draw the same rows from all, and give them new priorities."""
    if len(buffers[0]) == 0:
        return
    batches = [buffer.sample(5) for buffer in buffers]
    assert len({batch.handle.tobytes() for batch in batches}) == 1
    for buffer, batch in zip(buffers, batches, strict=True):
        buffer.update_priorities(batch.handle, np.linspace(0.1, 2.0, 5))


def check_history(plan: Plan, seed: int, root: Path) -> int:
    """One buffer is left alone, the other one saved to three folders in turns, and loaded.

    Returns:
        How many segments were in a save that had been in one before.
    """
    generator = np.random.default_rng(seed)
    alone, saved = make_buffer(plan, None), make_buffer(plan, None)
    seen, again = set[str](), 0
    for call in calls(plan):
        call(alone)
        call(saved)
        if plan.priorities is not None and generator.random() < 0.2:
            learn(alone, saved)
        if generator.random() < 0.2:
            folder = root / str(generator.integers(3))
            saved.save(folder)
            files = [segment.file for segment in read_about(folder).segments]
            again += len(seen.intersection(files))
            seen.update(files)
            if generator.random() < 0.2:
                shutil.rmtree(root / "0", ignore_errors=True)
            if folder.exists() and generator.random() < 0.4:
                saved = make_buffer(plan, None)
                saved.load(folder)
    saved.save(root / "last")
    loaded = make_buffer(plan, None)
    loaded.load(root / "last")
    assert_alike(loaded, alone, plan)
    return again


@pytest.mark.parametrize("prioritised", [False, True])
def test_as_if_never_saved(
    prioritised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = 0

    @hypothesis.seed(int(prioritised))
    @search(100)
    @given(
        plans(("flat", "discrete", "goal"), False, prioritised),
        st.integers(0, 999),
        st.sampled_from([1, 2, 4, 8]),
    )
    def check(plan: Plan, seed: int, size: int) -> None:
        nonlocal again
        monkeypatch.setattr(segments, "segment_rows", lambda *given: size)
        shutil.rmtree(tmp_path / "root", ignore_errors=True)
        again += check_history(plan, seed, tmp_path / "root")

    check()
    assert again > 300
