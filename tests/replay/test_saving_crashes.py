"""Crashes and mistakes while saving: what was saved before stays whole."""

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.replay.alike import same_episodes
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer
from woodshed.replay.saved import read_about

pytestmark = pytest.mark.usefixtures("small_segments")


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


def later_buffer(folder: Path) -> ReplayBuffer:
    """Loaded from a save of fourteen rows, of which some are overwritten by more."""
    buffer = line_buffer()
    line_buffer(*range(14)).save(folder)
    buffer.load(folder)
    write_episode(buffer, range(13, 19), [1.0] * 5, "terminated")
    return buffer


@pytest.mark.parametrize("known", ["nothing", "in the folder", "in another folder"])
def test_a_crash_leaves_the_old_save_or_the_new_one(known: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    old, new = line_buffer(*range(14)), line_buffer(5, 6)
    if known != "nothing":
        new = later_buffer(folder if known == "in the folder" else tmp_path / "other")
    seen = []
    for at in range(100):
        old.save(folder)  # also after a crash
        if known == "in the folder":  # with the segments that both have
            new = line_buffer()
            new.load(folder)
            write_episode(new, range(13, 19), [1.0] * 5, "terminated")
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


@pytest.mark.parametrize("known", ["nothing", "in the folder", "in another folder"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_at_any_moment(
    error: BaseException, known: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Or somebody who wants to stop: the old save stays, and nothing new is left."""
    folder = tmp_path / "saved"
    old, new = line_buffer(*range(14)), line_buffer(*range(30, 50))
    if known != "nothing":
        new = later_buffer(folder if known == "in the folder" else tmp_path / "other")
    if known != "in the folder":
        old.save(folder)
    before = sorted(os.listdir(folder))
    for at in range(100):
        left = at

        def fail(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            message = ""
            try:
                new.save(folder)
            except (WoodshedError, KeyboardInterrupt) as failed:
                message = str(failed)
            if message:
                assert str(folder) in message
                assert "No space left on device" in message
            if read_about(folder).files() != set(before):
                break
        assert sorted(os.listdir(folder)) == before
        loaded = line_buffer()
        loaded.load(folder)
        assert same_episodes(loaded.episodes(), old.episodes())
    assert at > 2
    loaded = line_buffer()
    loaded.load(folder)
    assert same_episodes(loaded.episodes(), new.episodes())


def test_a_file_that_cannot_be_written_to_its_end(tmp_path: Path) -> None:
    """A real one: no file may be longer than a hundred bytes."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            line_buffer(1, 2, 3).save(tmp_path / "saved")
        except WoodshedError as error:
            os._exit(0 if "too large" in str(error) and str(tmp_path) in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.listdir(tmp_path / "saved") == []


def test_a_stop_when_the_save_has_its_name_already_leaves_it_whole(
    tmp_path: Path, monkeypatch: Any
) -> None:
    buffer, replace = line_buffer(*range(14)), Path.replace

    def stop(path: Path, target: Path) -> None:
        replace(path, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        buffer.save(tmp_path / "saved")
    loaded = line_buffer()
    loaded.load(tmp_path / "saved")
    assert same_episodes(loaded.episodes(), buffer.episodes())


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
