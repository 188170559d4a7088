"""A damaged save is one clear line that names the file, and leaves an empty, usable buffer."""

import os
import pickle
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference.frames import Frames
from tests.replay import damage
from tests.replay.alike import give_priorities, same_episodes
from tests.replay.drawing import HISTORY
from tests.replay.filling import Filled, fill, make_buffer
from tests.replay.histories import Exponents, Plan

from woodshed.errors import WoodshedError
from woodshed.replay import ReplayBuffer

pytestmark = pytest.mark.usefixtures("small_segments")

PLAN = replace(
    HISTORY,
    with_info=True,
    with_state=True,
    priorities=Exponents(0.6, 0.4, 1.0, 200),
    frames=Frames(2),
)
# The oldest segment of lane 0 has two rows, 58 and 59; the newest one of lane 2 has three so far.
ARRAYS = ["episodes", "priorities", "records-0-58", "records-2-24"]
FILES = [*ARRAYS, "replay.json"]


@pytest.fixture(scope="module")
def filled() -> Filled:
    made = fill(PLAN, None)
    give_priorities(made, np.random.default_rng(0))
    return made


@pytest.fixture
def pristine(filled: Filled, tmp_path: Path) -> Path:
    filled.buffer.save(tmp_path / "pristine")
    return tmp_path / "pristine"


@pytest.fixture
def saved(pristine: Path, tmp_path: Path) -> Path:
    """A copy of it, to damage."""
    shutil.copytree(pristine, tmp_path / "saved")
    return tmp_path / "saved"


def find(folder: Path, file: str) -> Path:
    """A file of a save, by the first part of its name."""
    (path,) = folder.glob(f"{file}*")
    return path


def reseal(path: Path) -> None:
    """Make the checksum of an array, and that of `replay.json`, right again."""
    about = path.with_name("replay.json")
    document, checksum = damage.read_json(about), zlib.crc32(path.read_bytes())
    if path.name in document["checksums"]:
        document["checksums"][path.name] = checksum
    for segment in document["segments"]:
        if segment["file"] == path.name:
            segment["checksum"] = checksum
    damage.write_json(about, document)


def plans_of(plan: Plan) -> list[Plan]:
    """The same buffer, one of another capacity and one of other lanes: three ways to load."""
    return [plan, replace(plan, capacity=100), replace(plan, lanes=plan.lanes[:2], capacity=100)]


def assert_refused(folder: Path, names: str, buffer: ReplayBuffer, why: str = "") -> None:
    try:
        buffer.load(folder)
        message = "loaded"
    except WoodshedError as error:
        message = str(error)
    assert "\n" not in message
    assert names in message, why
    assert len(buffer) == 0
    assert list(buffer.episodes()) == []


def test_the_files_of_a_save(pristine: Path) -> None:
    """If these change, the lists above must."""
    names = {name.split("-")[0] for name in os.listdir(pristine)}
    assert names == {file.split("-")[0] for file in FILES}
    assert all(find(pristine, file).is_file() for file in FILES)


CASES = (
    [(file, how) for file in FILES for how in damage.ANY_FILE]
    + [(file, how) for file in ARRAYS for how in damage.ARRAY]
    + [("replay.json", how) for how in damage.JSON]
)


@pytest.mark.parametrize(
    ("file", "how"), CASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_damage_is_one_line(
    file: str, how: damage.Damage, saved: Path, pristine: Path, filled: Filled
) -> None:
    how(find(saved, file))
    for plan in plans_of(PLAN):
        buffer = make_buffer(plan, None)
        assert_refused(saved, file, buffer)
        buffer.load(pristine)  # it is still a fresh buffer
        assert len(buffer) == len(filled.buffer)
        if plan is PLAN:
            assert same_episodes(buffer.episodes(), filled.buffer.episodes())


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    buffer = make_buffer(PLAN, None)
    assert_refused(tmp_path / "nowhere", "nowhere", buffer)
    (tmp_path / "file").write_text("hello")
    assert_refused(tmp_path / "file", "file", buffer)
    (tmp_path / "empty").mkdir()
    assert_refused(tmp_path / "empty", "empty", buffer)


def test_every_number_of_the_json_replaced_by_nonsense(saved: Path) -> None:
    """By -1, one that fits no integer, infinity, nan, a half, and things that are no number."""
    path = saved / "replay.json"
    document = damage.read_json(path)
    shown = ("segments/0", "segments/3")  # the first one, and one like all others
    documents = [
        (what, other)
        for what, other in damage.nonsense(document)
        if not what.startswith("segments/") or what.startswith(shown)
    ]
    assert len(documents) > 500
    wrong = []
    for what, document in documents:
        damage.write_json(path, document)
        try:
            assert_refused(saved, str(saved), make_buffer(PLAN, None), what)
        except Exception as error:
            wrong.append((what, repr(error)))
    assert wrong == []


def test_a_missing_key_of_the_json(saved: Path) -> None:
    path = saved / "replay.json"
    document = damage.read_json(path)
    buffer = make_buffer(PLAN, None)
    for key in document:
        damage.write_json(path, {name: document[name] for name in document if name != key})
        assert_refused(saved, "replay.json", buffer, key)


def test_a_newer_version_is_named(saved: Path) -> None:
    path = saved / "replay.json"
    document = damage.read_json(path)
    document["version"] += 1
    damage.write_json(path, document)
    assert_refused(saved, f"{document['version']}", make_buffer(PLAN, None))


class Bomb:
    """Unpickled, it leaves a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Any], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("file", ARRAYS)
def test_no_code_of_the_file_is_run(file: str, saved: Path, tmp_path: Path) -> None:
    """Neither from an array of objects nor from a bare pickle, with a checksum that is right."""
    mark = tmp_path / "went off"
    pickle.loads(pickle.dumps(Bomb(mark)))  # the bomb works
    mark.rmdir()
    path = find(saved, file)
    objects = np.empty(np.load(path).shape, object)
    objects.fill(Bomb(mark))
    with path.open("wb") as stream:
        np.save(stream, objects, allow_pickle=True)
    as_objects = path.read_bytes()
    for data in (as_objects, pickle.dumps(Bomb(mark))):
        path.write_bytes(data)
        reseal(path)
        assert_refused(saved, file, make_buffer(PLAN, None))
        assert not mark.exists()


ARRAYS_INSTEAD: list[Callable[[Any], Any]] = [
    lambda array: array[:-1],
    lambda array: np.concatenate([array, array[:1]]),
    lambda array: array[None],
    lambda array: array.view("u1"),
    lambda array: array.astype(np.complex128),
    lambda array: np.zeros(0),
    lambda array: np.array("text"),
    lambda array: np.full(array.shape, -1, np.int64),
    lambda array: np.full(array.shape, np.nan),
]


@pytest.mark.parametrize("file", ARRAYS)
@pytest.mark.parametrize("change", range(len(ARRAYS_INSTEAD)))
def test_another_array_with_a_checksum_that_is_right(file: str, change: int, saved: Path) -> None:
    path = find(saved, file)
    np.save(path, ARRAYS_INSTEAD[change](np.load(path)), allow_pickle=False)
    reseal(path)
    for plan in plans_of(PLAN):
        assert_refused(saved, ".npy", make_buffer(plan, None))  # which of two does not fit
