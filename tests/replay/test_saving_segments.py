"""A later save writes what is new; what lies on the disk already is kept, or linked to."""

import os
import resource
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.replay.alike import same_episodes
from tests.replay.drawing import handles
from tests.replay.line import POSITION, rows, write_episode

from woodshed.errors import WoodshedError
from woodshed.replay import Episode, Priorities, ReplayBuffer, segments
from woodshed.replay.saved import read_about

pytestmark = pytest.mark.usefixtures("small_segments")


ROWS_OF_A_SEGMENT = segments.segment_rows  # not what the fixture makes of it


def make(capacity: int = 19, **options: Any) -> ReplayBuffer:
    """Twenty rows, in segments of four."""
    return ReplayBuffer(POSITION, POSITION, capacity, gamma=0.5, **options)


def go_on(buffer: ReplayBuffer, steps: int, lane: int = 0) -> None:
    """So many more steps of one endless episode: row n of a lane is at position n."""
    open_one = buffer.open_episode(lane)
    start = 0 if open_one is None else open_one.first_step + len(np.asarray(open_one[1].reward))
    positions = np.arange(start, start + steps + 1.0)[:, None]
    buffer.extend(lane, Episode(positions, np.zeros((steps, 1)), np.ones(steps), "open"))


class File(NamedTuple):
    """What tells whether a file was written again."""

    inode: int
    written: int
    content: bytes


def records(folder: Path) -> dict[str, File]:
    """The files of the records, by lane and first row."""
    return {
        path.name[len("records-") : -len("-01234567.npy")]: File(
            path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()
        )
        for path in sorted(folder.glob("records-*"))
    }


def assert_loads(folder: Path, buffer: ReplayBuffer, **options: Any) -> ReplayBuffer:
    """What was saved is what a buffer holds, and gives; it is loaded."""
    loaded = make(n_envs=buffer.n_envs, seed=99, **options)
    loaded.load(folder)
    assert same_episodes(loaded.episodes(), buffer.episodes())
    assert loaded._generator.bit_generator.state == buffer._generator.bit_generator.state
    assert set(os.listdir(folder)) == read_about(folder).files()
    return loaded


def test_the_size_of_a_segment() -> None:
    """A power of two of rows: about a mebibyte, and about a thousand segments at most."""
    size = ROWS_OF_A_SEGMENT
    assert size(144, 8, 125_001) == 8192  # FetchPush, a million transitions: 1.2 MB
    assert size(144, 1, 10) == 8192
    assert size(128, 1, 10) == 8192
    assert size(4 * 84 * 84, 8, 125_001) == 1024  # 28 GB of images, 29 MB each
    assert size(3 * 1024 * 1024, 4, 100) == 1
    for record_bytes, lanes, rows_per_lane in [(100, 7, 10**7), (28_224, 64, 10**5), (8, 1, 2**27)]:
        found = size(record_bytes, lanes, rows_per_lane)
        assert found & (found - 1) == 0
        assert record_bytes * found >= 2**20
        assert lanes * rows_per_lane / found <= 1000


def test_the_segments_of_some_rows() -> None:
    assert list(segments.spans(range(0), 4)) == []
    assert list(segments.spans(range(1), 4)) == [range(1)]
    assert list(segments.spans(range(8), 4)) == [range(4), range(4, 8)]
    assert list(segments.spans(range(6, 13), 4)) == [range(6, 8), range(8, 12), range(12, 13)]
    assert list(segments.spans(range(5, 7), 4)) == [range(5, 7)]


def test_the_files_by_hand(tmp_path: Path) -> None:
    buffer = make(38, n_envs=2)
    go_on(buffer, 24)  # rows 5 to 24 are stored
    go_on(buffer, 2, lane=1)
    buffer.save(tmp_path)
    about = read_about(tmp_path)
    listed = [(found.lane, found.first_row, found.rows) for found in about.segments]
    assert listed == [
        (0, 5, 3),
        (0, 8, 4),
        (0, 12, 4),
        (0, 16, 4),
        (0, 20, 4),
        (0, 24, 1),
        (1, 0, 3),
    ]
    for found in about.segments:
        assert found.file.startswith(f"records-{found.lane}-{found.first_row}-")
        position = np.load(tmp_path / found.file)[:, 0].view(np.float32)
        assert position.tolist() == list(range(found.first_row, found.end))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 9, 18, 19, 20, 50])
def test_the_same_folder_again(steps: int, tmp_path: Path) -> None:
    buffer = make()
    go_on(buffer, 14)  # rows 0 to 14
    buffer.save(tmp_path)
    before = records(tmp_path)
    assert list(before) == ["0-0", "0-12", "0-4", "0-8"]
    if steps:
        go_on(buffer, steps)
    buffer.save(tmp_path)
    after = records(tmp_path)
    oldest = max(0, 14 + steps - 19)
    for name in ("0-0", "0-4", "0-8"):
        if int(name[2:]) + 4 > oldest:
            assert after[name] == before[name]  # also where some of its rows are overwritten
        else:
            assert name not in after
    assert before["0-12"] not in after.values()
    assert_loads(tmp_path, buffer)


def test_the_newest_row_may_still_get_its_action(tmp_path: Path) -> None:
    buffer = make()
    go_on(buffer, 7)  # row 7, the newest one, is the last of its segment
    buffer.save(tmp_path)
    before = records(tmp_path)
    go_on(buffer, 1)
    buffer.save(tmp_path)
    after = records(tmp_path)
    assert after["0-0"] == before["0-0"]
    assert after["0-4"].inode != before["0-4"].inode
    assert_loads(tmp_path, buffer)
    buffer.cut()  # and the last row of an episode never gets one
    buffer.save(tmp_path)
    assert records(tmp_path)["0-4"] == after["0-4"]
    write_episode(buffer, [50, 51], [1.0], "terminated")
    buffer.save(tmp_path)
    assert records(tmp_path)["0-4"] == after["0-4"]
    assert_loads(tmp_path, buffer)


def test_a_new_folder_is_linked_to_the_last_one(tmp_path: Path) -> None:
    buffer = make()
    folders = [tmp_path / str(i) for i in range(4)]
    go_on(buffer, 14)
    for folder in folders:
        buffer.save(folder)
        go_on(buffer, 1)
    first = records(folders[0])
    for folder in folders[1:]:
        found = records(folder)
        assert [found[name] for name in ("0-0", "0-4", "0-8")] == [
            first[name] for name in ("0-0", "0-4", "0-8")
        ]
        assert found["0-12"].inode != first["0-12"].inode


def test_links_outlive_the_folder_that_they_link_to(tmp_path: Path) -> None:
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")
    for i in range(6):
        go_on(buffer, 3)
        kept = make()
        buffer.save(tmp_path / f"{i + 1}")
        kept.load(tmp_path / f"{i + 1}")
        shutil.rmtree(tmp_path / f"{i}")
        assert_loads(tmp_path / f"{i + 1}", kept)


def test_saved_and_loaded_again_and_again(tmp_path: Path) -> None:
    """A new buffer each time, which links to what it was loaded from; the ring goes round twice."""
    original = make(priorities=Priorities())
    current = make(priorities=Priorities())
    shared = 0
    for i in range(20):
        for buffer in (original, current):
            go_on(buffer, 1 + i % 5)
            drawn = buffer.sample(8)
            buffer.update_priorities(drawn.handle, np.arange(1.0, 9.0))
        current.save(tmp_path / f"{i}")
        if i:
            inodes = [
                {file.inode for file in records(tmp_path / f"{j}").values()} for j in (i - 1, i)
            ]
            shared += len(inodes[0] & inodes[1])
        current = assert_loads(tmp_path / f"{i}", original, priorities=Priorities())
    assert shared > 40
    assert handles(current.sample(100)) == handles(original.sample(100))


def test_a_fork_does_not_mix(tmp_path: Path) -> None:
    origin = make()
    go_on(origin, 13)
    origin.save(tmp_path / "origin")
    forks = [assert_loads(tmp_path / "origin", origin) for _ in range(2)]
    for _ in range(4):
        for i, fork in enumerate(forks):
            here = rows(fork)
            fork.cut()
            write_episode(fork, (np.arange(4.0) + 100 * (i + 1)).tolist(), [1.0] * 3, "cut")
            assert rows(fork) != here
            fork.save(tmp_path / str(i))
        for i, fork in enumerate(forks):
            assert_loads(tmp_path / str(i), fork)
    forks[1].save(tmp_path / "0")  # also in the place of the other one
    assert_loads(tmp_path / "0", forks[1])
    forks[0].save(tmp_path / "1")
    assert_loads(tmp_path / "1", forks[0])
    forks[0].save(tmp_path / "0")
    assert_loads(tmp_path / "0", forks[0])
    assert_loads(tmp_path / "origin", origin)


@pytest.mark.parametrize("errno", [1, 18, 31, 95])  # not allowed, another disk, too many links, …
def test_without_links_everything_is_written(errno: int, tmp_path: Path, monkeypatch: Any) -> None:
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")

    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(errno, "no links")

    monkeypatch.setattr(os, "link", refuse)
    buffer.save(tmp_path / "1")
    first, second = records(tmp_path / "0"), records(tmp_path / "1")
    assert {file.inode for file in first.values()}.isdisjoint(f.inode for f in second.values())
    assert [file.content for file in first.values()] == [file.content for file in second.values()]
    assert_loads(tmp_path / "1", buffer)
    buffer.save(tmp_path / "1")  # where no link is needed
    assert records(tmp_path / "1")["0-0"] == second["0-0"]


@pytest.mark.parametrize("same_folder", [False, True])
@pytest.mark.parametrize("harm", ["removed", "truncated", "longer", "a folder", "a broken link"])
def test_a_known_file_that_is_not_there_any_more(
    harm: str, same_folder: bool, tmp_path: Path
) -> None:
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")
    before = records(tmp_path / "0")
    path = next((tmp_path / "0").glob("records-0-4-*"))
    content = path.read_bytes()
    path.unlink()
    if harm == "a folder":
        path.mkdir()
    elif harm == "a broken link":
        path.symlink_to("nowhere")
    elif harm != "removed":
        path.write_bytes(content[:-1] if harm == "truncated" else content + b"\0")
    folder = tmp_path / ("0" if same_folder else "1")
    buffer.save(folder)
    if path.is_dir():
        path.rmdir()
    assert_loads(folder, buffer)
    after = records(folder)
    assert [file.content for file in after.values()] == [file.content for file in before.values()]
    assert [after[name] == before[name] for name in ("0-0", "0-4", "0-8")] == [True, False, True]


@pytest.mark.parametrize("named", [False, True])
def test_a_folder_that_was_renamed(named: bool, tmp_path: Path) -> None:
    """What is written aside and renamed can be linked to where it lies now."""
    buffer = make()
    for i in range(5):
        go_on(buffer, 14 if i == 0 else 3)
        earlier = tmp_path / f"{i - 1}" if named and i else None
        buffer.save(tmp_path / "aside", earlier=earlier)
        (tmp_path / "aside").rename(tmp_path / f"{i}")
        assert_loads(tmp_path / f"{i}", buffer)
    first, last = records(tmp_path / "1"), records(tmp_path / "4")
    assert (first["0-12"] == last["0-12"]) == named
    assert first["0-8"].content == last["0-8"].content


def test_an_earlier_folder_of_something_else_does_no_harm(tmp_path: Path) -> None:
    buffer, other = make(), make()
    for one, steps in ((buffer, 14), (other, 17)):
        go_on(one, steps)
        one.save(tmp_path / f"{steps}")
    for earlier in (tmp_path / "17", tmp_path / "nowhere", f"{tmp_path}"):
        shutil.rmtree(tmp_path / "14", ignore_errors=True)
        buffer.save(tmp_path / "14", earlier=earlier)
        assert_loads(tmp_path / "14", buffer)
    with pytest.raises(WoodshedError, match="3 is no path"):
        buffer.save(tmp_path / "14", earlier=3)  # type: ignore[arg-type]


def test_a_file_of_the_same_name_is_not_taken_for_the_known_one(tmp_path: Path) -> None:
    """As in a copy of the folder, which somebody has changed since."""
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")
    shutil.copytree(tmp_path / "0", tmp_path / "copy")
    path = next((tmp_path / "copy").glob("records-0-4-*"))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    buffer.save(tmp_path / "copy")
    assert_loads(tmp_path / "copy", buffer)
    assert_loads(tmp_path / "0", buffer)


def test_a_name_relative_to_where_the_process_was(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    buffer = make()
    go_on(buffer, 14)
    buffer.save("0")
    first = records(tmp_path / "0")
    monkeypatch.chdir(tmp_path / "elsewhere")
    buffer.save("1")
    assert first["0-0"] == records(tmp_path / "elsewhere" / "1")["0-0"]
    buffer.save(tmp_path / "0")
    assert first["0-0"] == records(tmp_path / "0")["0-0"]


@pytest.mark.parametrize(("capacity", "n_envs"), [(30, 1), (19, 1), (40, 2)])
def test_only_rows_that_keep_their_numbers_are_known(
    capacity: int, n_envs: int, tmp_path: Path
) -> None:
    buffer = make()
    go_on(buffer, 25)  # rows 6 to 25, of which another capacity makes 0 to 19
    buffer.save(tmp_path / "0")
    loaded = make(capacity, n_envs=n_envs)
    loaded.load(tmp_path / "0")
    loaded.save(tmp_path / "1")
    again = make(capacity, n_envs=n_envs)
    again.load(tmp_path / "1")
    assert same_episodes(again.episodes(), loaded.episodes())
    before = {file.inode for file in records(tmp_path / "0").values()}
    after = {file.inode for file in records(tmp_path / "1").values()}
    assert (not before.isdisjoint(after)) == (capacity == 19)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 32])
@pytest.mark.parametrize("steps", [14, 19, 33, 50])
def test_segments_of_another_length(
    size: int, steps: int, tmp_path: Path, monkeypatch: Any
) -> None:
    """As another version of Woodshed might make them."""
    buffer = make()
    go_on(buffer, steps)
    buffer.save(tmp_path / "0")
    loaded = assert_loads(tmp_path / "0", buffer)
    monkeypatch.setattr(segments, "segment_rows", lambda *given: size)
    for i in (1, 2, 3):
        loaded.save(tmp_path / str(i))
        assert_loads(tmp_path / str(i), loaded)
        go_on(loaded, 5)


def test_files_of_others_stay(tmp_path: Path) -> None:
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path)
    others = ["records-0-0.npy", "records-00-0-01234567.npy", "records-01234567.npy", "notes"]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / "records-0-0-01234567.npy").write_text("what a crash left")
    go_on(buffer, 30)
    buffer.save(tmp_path)
    assert set(os.listdir(tmp_path)) == {*read_about(tmp_path).files(), *others}


def test_a_loaded_save_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Links need no right to write to the files."""
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")
    for path in (tmp_path / "0").iterdir():
        path.chmod(0o444)
    loaded = assert_loads(tmp_path / "0", buffer)
    loaded.save(tmp_path / "1")
    assert_loads(tmp_path / "1", loaded)
    assert records(tmp_path / "0")["0-0"] == records(tmp_path / "1")["0-0"]


def test_a_load_that_fails_makes_nothing_known(tmp_path: Path) -> None:
    buffer = make()
    go_on(buffer, 14)
    buffer.save(tmp_path / "0")
    next((tmp_path / "0").glob("episodes-*")).unlink()
    loaded = make()
    with pytest.raises(WoodshedError):
        loaded.load(tmp_path / "0")
    go_on(loaded, 9)
    loaded.save(tmp_path / "1")
    assert_loads(tmp_path / "1", loaded)
    before = {file.inode for file in records(tmp_path / "0").values()}
    assert before.isdisjoint(file.inode for file in records(tmp_path / "1").values())


def test_more_segments_than_files_that_may_be_open(tmp_path: Path) -> None:
    buffer = make(400)
    go_on(buffer, 450)
    buffer.save(tmp_path / "0")
    assert len(records(tmp_path / "0")) == 101
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 20, limits[1]))
    try:
        loaded = make(400)
        loaded.load(tmp_path / "0")
        other = make(400, n_envs=2)
        other.load(tmp_path / "0")
        loaded.save(tmp_path / "1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert same_episodes(loaded.episodes(), buffer.episodes())
    assert len(other) == len(buffer)


def test_records_on_disk_are_saved_in_the_same_way(tmp_path: Path) -> None:
    buffer = make(storage=tmp_path / "scratch")
    go_on(buffer, 34)
    buffer.save(tmp_path / "0")
    go_on(buffer, 5)
    buffer.save(tmp_path / "1")
    assert_loads(tmp_path / "1", buffer, storage=tmp_path / "scratch")
    assert records(tmp_path / "0")["0-28"] == records(tmp_path / "1")["0-28"]
