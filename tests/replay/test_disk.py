"""Records on disk instead of in memory: the same batches, and nothing is left behind."""

import gc
import os
import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from tests.replay import worlds
from tests.replay.alike import assert_alike
from tests.replay.drawing import HISTORY
from tests.replay.filling import fill, make_buffer
from tests.replay.histories import Add, Cut, Exponents, Plan, plans, play, search
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer

MIXTURE = {"original": 0.4, "future": 0.3, "episode": 0.2, "random": 0.1}


def make(storage: Any, capacity: int = 10, space: Any = POSITION) -> ReplayBuffer:
    return ReplayBuffer(space, POSITION, capacity, gamma=0.5, storage=storage)


def write(buffer: ReplayBuffer, call: Add | Cut) -> None:
    if isinstance(call, Add):
        buffer.add(**call._asdict())
    else:
        buffer.cut(call.mask)


@pytest.mark.parametrize("prioritised", [False, True])
def test_the_same_batches_as_in_memory(prioritised: bool, tmp_path: Path) -> None:
    @hypothesis.seed(int(prioritised))
    @search(80)
    @given(plans((*worlds.GOAL_KINDS, "flat", "discrete"), True, prioritised))
    def check(plan: Plan) -> None:
        source = MIXTURE if plan.kind in worlds.GOAL_KINDS else None
        memory, disk = make_buffer(plan, source), make_buffer(plan, source, storage=tmp_path)
        for t, call in enumerate(play(plan)):
            write(memory, call)
            write(disk, call)
            if t % 20 == 10:
                assert_alike(memory, disk, plan)
        assert_alike(memory, disk, plan)

    check()


def test_a_folder_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for path in (folder, str(folder)):
        buffer = make(path)
        write_episode(buffer, [1, 2], [3.0], "open")
        assert rows(buffer) == {(1, 1): (3.0, 0.5, 2)}


def test_nothing_is_left(tmp_path: Path) -> None:
    """Not of two buffers in one folder either."""
    (tmp_path / "mine").write_text("stays")
    first, second = make(tmp_path), make(tmp_path)
    for buffer, start in ((first, 0), (second, 50)):
        write_episode(buffer, range(start, start + 30), [1.0] * 29, "open")
    assert {key[0] for key in rows(first)} == set(range(19, 29))
    del buffer, second
    gc.collect()
    assert {key[0] for key in rows(first)} == set(range(19, 29))
    del first
    gc.collect()
    assert os.listdir(tmp_path) == ["mine"]
    assert (tmp_path / "mine").read_text() == "stays"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(WoodshedError, match="file") as error:
            make(path)
        assert "\n" not in str(error.value)
    assert (tmp_path / "file").read_text() == "mine"
    assert os.listdir(tmp_path) == ["file"]


def test_more_than_the_disk_has_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    image = spaces.Box(0, 255, (1000, 1000), np.uint8)
    free = shutil.disk_usage(tmp_path).free
    folder = tmp_path / "new"
    with pytest.raises(WoodshedError) as error:
        make(folder, capacity=free // 10**6 + 1000, space=image)
    assert "\n" not in str(error.value)
    assert not folder.exists() or os.listdir(folder) == []


def test_a_nearly_full_disk(tmp_path: Path, monkeypatch: Any) -> None:
    """A record of this space takes more than 90,000 bytes: five fit, and thirteen do not."""
    Usage = namedtuple("Usage", "total used free")
    free = 1_000_000
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - free, free))
    image = spaces.Box(0, 255, (300, 300), np.uint8)
    with pytest.raises(WoodshedError):
        make(tmp_path, capacity=12, space=image)
    assert os.listdir(tmp_path) == []
    make(tmp_path, capacity=4, space=image)


def test_memory_does_not_hold_the_records(tmp_path: Path) -> None:
    """Half a gigabyte of images, and not much of it resident."""
    image = spaces.Box(0, 255, (1024, 1024), np.uint8)
    before = resident()
    buffer = make(tmp_path, capacity=500, space=image)
    assert resident() - before < 30 * 2**20
    assert len(buffer) == 0


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_saved_in_memory_and_loaded_on_disk(tmp_path: Path) -> None:
    plan = replace(HISTORY, priorities=Exponents(0.6, 0.4, 1.0, 200), n_step=(1, 3), with_info=True)
    memory = fill(plan, MIXTURE).buffer
    disk = make_buffer(plan, MIXTURE, storage=tmp_path / "scratch")
    memory.save(tmp_path / "saved")
    disk.load(tmp_path / "saved")
    assert_alike(memory, disk, plan)
    disk.save(tmp_path / "again")
    back = make_buffer(plan, MIXTURE)
    back.load(tmp_path / "again")
    assert_alike(back, disk, plan)
