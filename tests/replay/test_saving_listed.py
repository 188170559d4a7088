"""What `replay.json` says of its segments, and its own checksum: any mistake is refused."""

import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.replay import damage
from tests.replay.line import POSITION, write_episode

from woodshed.errors import WoodshedError
from woodshed.files import read_sealed, sealed_text
from woodshed.replay import ReplayBuffer
from woodshed.replay.segments import Segment, read_segments

pytestmark = pytest.mark.usefixtures("small_segments")

PATH = Path("replay.json")


def segment(lane: int, first_row: int, rows: int) -> dict[str, Any]:
    return asdict(Segment(f"records-{lane}-{first_row}-0123abcd.npy", lane, first_row, rows, 7))


def right() -> list[dict[str, Any]]:
    """Lane 0 has rows 5 to 14, lane 1 none, lane 2 rows 0 to 2."""
    return [segment(0, 4, 4), segment(0, 8, 4), segment(0, 12, 3), segment(2, 0, 3)]


def read(listed: Any) -> list[Segment]:
    return read_segments(PATH, listed, newest=[14, -1, 2], rows_per_lane=10)


def test_the_right_list() -> None:
    assert [asdict(found) for found in read(right())] == right()


def changed(index: int, **values: Any) -> list[dict[str, Any]]:
    listed = right()
    listed[index] |= values
    return listed


def with_segments(*others: dict[str, Any], without: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    return [*(item for i, item in enumerate(right()) if i not in without), *others]


NAMES = [
    "../records-0-8-0123abcd.npy",
    "/records-0-8-0123abcd.npy",
    "x/records-0-8-0123abcd.npy",
    "records-0-8-0123abcd.npy\n",
    "records-0-8-0123ABCD.npy",
    "records-00-8-0123abcd.npy",
    "records-0-08-0123abcd.npy",
    "records-0-٨-0123abcd.npy",
    "records-1-8-0123abcd.npy",
    "records-0-9-0123abcd.npy",
    "records-0-8.npy",
    "episodes-0123abcd.npy",
    "replay.json",
    "..",
    "",
    None,
    8,
    ["records-0-8-0123abcd.npy"],
]

WRONG: dict[str, Any] = {
    "none": [],
    "no list": {},
    "no list either": None,
    "no segment": [*right(), 3],
    "one more key": changed(1, more=1),
    "the first one is missing": with_segments(without=(0,)),
    "one in the middle is missing": with_segments(without=(1,)),
    "the last one of a lane is missing": with_segments(without=(2,)),
    "the last one is missing": with_segments(without=(3,)),
    "one twice": with_segments(segment(2, 0, 3)),
    "two in the wrong order": [right()[i] for i in (1, 0, 2, 3)],
    "lanes in the wrong order": [right()[i] for i in (3, 0, 1, 2)],
    "one after the newest row": with_segments(segment(2, 3, 4)),
    "one before the oldest row": [segment(0, 0, 4), *right()],
    "one of an empty lane": with_segments(segment(1, 0, 4)),
    "one of no lane": with_segments(segment(3, 0, 4)),
    "one row too many": changed(3, rows=4),
    "one row too few": changed(3, rows=2),
    "overlapping": changed(0, rows=5),
    "overlapping from below": [right()[0], segment(0, 7, 5), *right()[2:]],
    "a gap": changed(0, rows=3),
    "no rows": changed(3, rows=0),
    "all but the first rows": changed(0, rows=1),
    "fewer than no rows": changed(1, rows=-4),
    "rows that are a truth": changed(1, rows=True),
    "half a row": changed(1, rows=4.0),
    "a lane that is a truth": changed(3, lane=True),
    "a negative lane": changed(3, lane=-1, file="records--1-0-0123abcd.npy"),
    "a negative row": changed(3, first_row=-1, file="records-2--1-0123abcd.npy"),
    "a negative checksum": changed(1, checksum=-1),
    "a checksum that is a text": changed(1, checksum="7"),
    **{f"the name {name!r}": changed(1, file=name) for name in NAMES},
}


@pytest.mark.parametrize("what", WRONG)
def test_another_list(what: str) -> None:
    with pytest.raises(WoodshedError, match=r"^replay\.json is damaged: ") as error:
        read(WRONG[what])
    assert "\n" not in str(error.value)


def test_what_names_an_odd_file_says_which() -> None:
    with pytest.raises(WoodshedError, match=r"'\.\./x' is no name of a segment"):
        read(changed(1, file="../x"))


def line_buffer() -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, 10)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    buffer = line_buffer()
    write_episode(buffer, range(15), [1.0] * 14, "open")  # rows 4 to 14 are stored
    buffer.save(tmp_path / "saved")
    return tmp_path / "saved"


def refusal(folder: Path) -> str:
    buffer = line_buffer()
    with pytest.raises(WoodshedError) as error:
        buffer.load(folder)
    assert len(buffer) == 0
    assert list(buffer.episodes()) == []
    assert "\n" not in str(error.value)
    return str(error.value)


def swap_files(listed: list[dict[str, Any]]) -> None:
    listed[0]["file"], listed[1]["file"] = listed[1]["file"], listed[0]["file"]


def swap_checksums(listed: list[dict[str, Any]]) -> None:
    listed[0]["checksum"], listed[1]["checksum"] = listed[1]["checksum"], listed[0]["checksum"]


@pytest.mark.parametrize("swap", [swap_files, swap_checksums])
def test_two_segments_that_change_places(
    swap: Callable[[list[dict[str, Any]]], None], saved: Path
) -> None:
    document = damage.read_json(saved / "replay.json")
    swap(document["segments"])
    damage.write_json(saved / "replay.json", document)
    assert "damaged" in refusal(saved)


def test_another_number_of_rows_than_its_file_has(saved: Path) -> None:
    document = damage.read_json(saved / "replay.json")
    document["newest"][0] += 1
    document["segments"][-1]["rows"] += 1
    damage.write_json(saved / "replay.json", document)
    assert document["segments"][-1]["file"] in refusal(saved)


@pytest.mark.parametrize("value", [0, 9, 12, 2**40])
def test_another_number_of_rows_in_a_lane(value: int, saved: Path) -> None:
    document = damage.read_json(saved / "replay.json")
    document["rows_per_lane"] = value
    damage.write_json(saved / "replay.json", document)
    assert "damaged" in refusal(saved)


@pytest.mark.parametrize("other", ["episodes", "records"])
@pytest.mark.parametrize("name", ["../episodes-0123abcd.npy", "x", "episodes-0123abcd.npy\n"])
def test_other_names_of_the_other_arrays(other: str, name: str, saved: Path) -> None:
    document = damage.read_json(saved / "replay.json")
    (checksum,) = document["checksums"].values()
    document["checksums"] = {name.replace("episodes", other): checksum}
    damage.write_json(saved / "replay.json", document)
    assert "replay.json" in refusal(saved)


def test_any_byte_of_the_json_that_is_another_is_found(saved: Path) -> None:
    path = saved / "replay.json"
    content = path.read_bytes()
    for at in range(len(content)):
        for other in {content[at] ^ 1, ord("\r")}:
            path.write_bytes(content[:at] + bytes([other]) + content[at + 1 :])
            with pytest.raises(WoodshedError, match=r"replay\.json"):
                read_sealed(path)
    for other_content in (content[:-1], content + b"\n", b" " + content, content * 2):
        path.write_bytes(other_content)
        with pytest.raises(WoodshedError, match=r"replay\.json"):
            read_sealed(path)
    path.write_bytes(content)
    line_buffer().load(saved)


def test_any_byte_of_a_segment_that_is_another_is_found(saved: Path) -> None:
    path = next(saved.glob("records-0-8-*"))
    content = path.read_bytes()
    for at in range(0, len(content), 3):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert str(path) in refusal(saved)


SEALED = {"one": [1, 2.5, None, True, -0.0, 1e-320, 2**100], "zwölf": {"\n": "ä\ud800", "": []}}


def test_sealed_text_is_read_as_it_was(tmp_path: Path) -> None:
    data = deepcopy(SEALED)
    (tmp_path / "file").write_text(sealed_text(data))
    assert data == SEALED
    assert repr(read_sealed(tmp_path / "file")) == repr(SEALED)
    assert list(data) == list(read_sealed(tmp_path / "file"))


@pytest.mark.parametrize("text", ["{}", "[]", "3", "", '{\n  "checksum": 0\n}\n', "[" * 99_999])
def test_what_is_not_sealed(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(WoodshedError, match="file is damaged") as error:
        read_sealed(tmp_path / "file")
    assert "\n" not in str(error.value)


def test_sealed_text_that_is_missing_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match="file is missing"):
        read_sealed(tmp_path / "file")
    os.mkdir(tmp_path / "file")
    with pytest.raises(WoodshedError, match="file is damaged"):
        read_sealed(tmp_path / "file")


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        sealed_text({"one": np.inf})
