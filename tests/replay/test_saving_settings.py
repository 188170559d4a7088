"""Saved with some settings and loaded with others: priorities and stacks of frames."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.replay.drawing import handles
from tests.replay.line import POSITION, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import FrameStack, Priorities, ReplayBuffer


def make(**options: Any) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, 10, **options)


def seen(buffer: ReplayBuffer) -> list[int]:
    return sorted(set(handles(buffer.sample(400))))


@pytest.mark.parametrize("saved_with", [None, FrameStack(1), FrameStack(3)])
@pytest.mark.parametrize(
    ("loaded_with", "first"), [(None, 19), (FrameStack(2), 20), (FrameStack(5), 23)]
)
def test_rows_with_all_the_frames_that_the_new_stack_asks_for(
    saved_with: FrameStack | None, loaded_with: FrameStack | None, first: int, tmp_path: Path
) -> None:
    """Rows 19 to 29 of a long episode are stored."""
    buffer = make(frames=saved_with)
    write_episode(buffer, range(30), [1.0] * 29, "open")
    buffer.save(tmp_path / "saved")
    loaded = make(frames=loaded_with)
    loaded.load(tmp_path / "saved")
    assert len(loaded) == 29 - first
    assert seen(loaded) == list(range(first, 29))
    write_episode(loaded, [29, 30], [1.0], "truncated")  # and it goes on
    assert seen(loaded) == list(range(first + 1, 30))


@pytest.mark.parametrize("n_envs", [1, 2])
def test_priorities_do_no_harm_where_they_are_not_wanted(n_envs: int, tmp_path: Path) -> None:
    buffer = make(priorities=Priorities())
    write_episode(buffer, range(6), [1.0] * 5, "truncated")
    buffer.update_priorities(np.arange(5), np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    buffer.save(tmp_path / "saved")
    loaded = make(n_envs=n_envs)
    loaded.load(tmp_path / "saved")
    assert len(seen(loaded)) == 5  # the one of priority 0 too
    assert set(loaded.sample(50).weight.tolist()) == {1.0}


def test_another_alpha_is_refused_with_both_numbers(tmp_path: Path) -> None:
    buffer = make(priorities=Priorities(alpha=0.6))
    write_episode(buffer, range(6), [1.0] * 5, "truncated")
    buffer.save(tmp_path / "saved")
    other = make(priorities=Priorities(alpha=0.75))
    with pytest.raises(WoodshedError, match=r"0\.6.*0\.75") as error:
        other.load(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert len(other) == 0
