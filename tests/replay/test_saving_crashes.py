"""Crashes and mistakes while saving: what was saved before stays whole."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.replay.alike import same_episodes
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer


def line_buffer(*positions: float) -> ReplayBuffer:
    buffer = ReplayBuffer(POSITION, POSITION, 10)
    if positions:
        write_episode(buffer, positions, [1.0] * (len(positions) - 1), "open")
    return buffer


FILE_CHANGES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link"}


def dies_while_saving(buffer: ReplayBuffer, folder: Path, at: int) -> bool:
    """In a fork that dies at its n-th change of a file; whether it came to that."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a fork that hangs is killed, and the test fails
        left = at

        def count(event: str, arguments: Any) -> None:
            nonlocal left
            if event in FILE_CHANGES:
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(count)
        buffer.save(folder)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9)
    return status == 9


def test_a_crash_leaves_the_old_save_or_the_new_one(tmp_path: Path) -> None:
    old, new = line_buffer(1, 2, 3), line_buffer(5, 6)
    folder = tmp_path / "saved"
    seen = []
    for at in range(100):
        old.save(folder)  # also after a crash
        died = dies_while_saving(new, folder, at)
        loaded = line_buffer()
        loaded.load(folder)
        kept = [same_episodes(loaded.episodes(), buffer.episodes()) for buffer in (old, new)]
        assert sum(kept) == 1, f"died at change {at}"
        seen.append(kept[0])
        if not died:
            break
    assert len(seen) > 5
    assert seen == sorted(seen, reverse=True)
    assert (seen[0], seen[-1]) == (True, False)


def test_a_crash_of_the_first_save_leaves_nothing_that_loads(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    for at in range(100):
        dies_while_saving(line_buffer(5, 6), folder, at)
        loaded = line_buffer()
        if not (folder / "replay.json").exists():
            with pytest.raises(WoodshedError):
                loaded.load(folder)
            assert len(loaded) == 0
        else:
            loaded.load(folder)
            assert rows(loaded) == {(5, 1): (1.0, 0.99, 6)}
            break
    assert at > 3
    line_buffer(5, 6).save(folder)  # and nothing of the crashes is left
    assert len(os.listdir(folder)) == 3


def test_a_save_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: Any) -> None:
    """As on a full disk."""
    old, new = line_buffer(1, 2, 3), line_buffer(5, 6)
    old.save(tmp_path / "saved")
    with monkeypatch.context() as patch:

        def full(*arguments: Any, **options: Any) -> None:
            raise OSError(28, "No space left on device")

        for name in ("rename", "replace"):
            patch.setattr(os, name, full)
            patch.setattr(Path, name, full)
        with pytest.raises((WoodshedError, OSError)):
            new.save(tmp_path / "saved")
    loaded = line_buffer()
    loaded.load(tmp_path / "saved")
    assert same_episodes(loaded.episodes(), old.episodes())
    new.save(tmp_path / "saved")
    assert os.listdir(tmp_path) == ["saved"]


def test_saving_over_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("mine")
    with pytest.raises(WoodshedError, match="saved") as error:
        line_buffer(1, 2).save(tmp_path / "saved")
    assert "\n" not in str(error.value)
    assert (tmp_path / "saved").read_text() == "mine"


def test_a_folder_of_other_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("mine")
    with pytest.raises(WoodshedError, match="thesis") as error:
        line_buffer(1, 2).save(tmp_path / "thesis")
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path / "thesis") == ["chapter"]


def test_an_empty_folder_may_be_saved_to(tmp_path: Path) -> None:
    line_buffer(1, 2).save(tmp_path)
    loaded = line_buffer()
    loaded.load(tmp_path)
    assert len(loaded) == 1


def test_parents_of_the_folder_are_made_and_its_name_may_be_a_string(tmp_path: Path) -> None:
    line_buffer(1, 2).save(str(tmp_path / "a" / "b"))
    loaded = line_buffer()
    loaded.load(str(tmp_path / "a" / "b"))
    assert len(loaded) == 1


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(WoodshedError, match="0 is no path"):
        line_buffer(1, 2).save(0)  # type: ignore[arg-type]
    with pytest.raises(WoodshedError, match="None is no path"):
        line_buffer().load(None)  # type: ignore[arg-type]
    with pytest.raises(WoodshedError, match="5 is no path"):
        ReplayBuffer(POSITION, POSITION, 10, storage=5)  # type: ignore[arg-type]
