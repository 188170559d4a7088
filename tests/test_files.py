import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

from woodshed.errors import WoodshedError
from woodshed.files import (
    mend_folder,
    read_arrays,
    read_json,
    replaced_file,
    replaced_folder,
    write_arrays,
    write_json,
)


def test_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replaced_file(path) as aside:
        aside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half() -> None:
        with replaced_file(path) as aside:
            aside.write_text("half")
            raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folder_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    for content in ("one", "two"):
        with replaced_folder(path) as aside:
            (aside / "file").write_text(content)
    assert (path / "file").read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    with replaced_folder(path) as aside:
        (aside / "file").write_text("one")

    def write_half() -> None:
        with replaced_folder(path) as aside:
            (aside / "other").write_text("half")
            raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        write_half()
    assert [file.name for file in path.iterdir()] == ["file"]
    assert list(tmp_path.iterdir()) == [path]


def test_folder_comes_back_where_the_new_one_cannot_take_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy"
    with replaced_folder(path) as aside:
        (aside / "file").write_text("one")
    rename = Path.rename

    def second_fails(source: Path, target: Path) -> Path:
        if target == path and not (source / "file").read_text() == "one":
            raise KeyboardInterrupt
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", second_fails)

    def write() -> None:
        with replaced_folder(path) as aside:
            (aside / "file").write_text("two")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert (path / "file").read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_what_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", 1)
        with replaced_folder(tmp_path / "folder") as aside:
            write_json(aside / "a.json", 1)
    finally:
        os.umask(before)
    modes = {
        path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")
    }
    assert modes == {
        Path("a.json"): 0o640,
        Path("folder"): 0o750,
        Path("folder/a.json"): 0o640,
    }


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays = {"a['x']": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7)}
    write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_pickled_arrays_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.array([object()], dtype=object))
    with pytest.raises(WoodshedError, match=r"a\.npz is damaged"):
        read_arrays(path)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04"])
def test_damaged_arrays_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(WoodshedError, match=r"a\.npz is damaged"):
        read_arrays(path)


def test_truncated_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, {"a": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(WoodshedError, match=r"a\.npz is damaged"):
        read_arrays(path)


def test_every_flipped_byte_is_found_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, {"a": np.arange(3, dtype=np.float32)})
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        with contextlib.suppress(WoodshedError):  # the one thing that may be raised
            read_arrays(path)


def test_json_comes_back_and_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": [1, 2.5, None]})
    assert read_json(path) == {"a": [1, 2.5, None]}
    path.write_text("{")
    with pytest.raises(WoodshedError, match=r"a\.json is damaged"):
        read_json(path)
    with pytest.raises(WoodshedError, match=r"b\.json is missing"):
        read_json(tmp_path / "b.json")


def test_a_folder_is_mended_after_a_crash_between_the_two_renames(tmp_path: Path) -> None:
    def left(name: str, age: int) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))

    left(".policy.00000001", 10)  # the old one
    left(".policy.00000002", 0)  # the new one
    left(".policy-last.00000003", 0)  # never finished
    left(".policy.mine", 0)
    mend_folder(tmp_path / "policy")
    mend_folder(tmp_path / "policy-last")
    assert {path.name for path in tmp_path.iterdir()} == {"policy", ".policy.mine"}
    assert (tmp_path / "policy" / "file").read_text() == ".policy.00000002"
    left(".policy.00000004", 0)
    mend_folder(tmp_path / "policy")
    assert {path.name for path in tmp_path.iterdir()} == {"policy", ".policy.mine"}
    assert (tmp_path / "policy" / "file").read_text() == ".policy.00000002"
