"""Checkpoints: whole or not there, and refused where one byte is another."""

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.training.alike import metrics_of
from tests.training.tasks import run, settings_of

from woodshed.errors import WoodshedError
from woodshed.replay import segments
from woodshed.training import resume
from woodshed.training.checkpoint import read_checkpoint
from woodshed.training.checkpoint_folder import list_checkpoints, new_checkpoint, newest_checkpoint
from woodshed.training.reporter import LineReporter


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose newest checkpoint shares a replay file with the one before."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(folder, steps=200, checkpoint_every=150, evaluate_every=50)
    return folder


def files_of(folder: Path) -> list[str]:
    newest = newest_checkpoint(folder)
    return sorted(str(path.relative_to(newest)) for path in newest.rglob("*") if path.is_file())


def test_it_holds_the_files_that_are_promised(folder: Path) -> None:
    names = files_of(folder)
    for name in ("checkpoint.json", "arrays.npz", "policy/policy.json", "policy/policy.npz"):
        assert name in names
    others = [name for name in names if name.startswith("replay/")]
    assert "replay/replay.json" in others
    assert all(name.endswith((".npy", ".json")) for name in others)


def test_one_changed_byte_in_any_file_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in files_of(folder):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "copy")
        path = newest_checkpoint(tmp_path / "copy") / name
        data = bytearray(path.read_bytes())
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        with pytest.raises(WoodshedError, match=path.name):
            resume(tmp_path / "copy", settings_of(folder, steps=250))


def test_every_missing_file_is_named(folder: Path, tmp_path: Path) -> None:
    for name in files_of(folder):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "copy")
        path = newest_checkpoint(tmp_path / "copy") / name
        path.unlink()
        with pytest.raises(WoodshedError, match=f"{path.name} is missing"):
            resume(tmp_path / "copy", settings_of(folder, steps=250))


def test_every_changed_byte_of_the_json_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(newest_checkpoint(folder), tmp_path / "copy")
    path = tmp_path / "copy" / "checkpoint.json"
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        for other in (whole[position] ^ 1, ord(" "), ord("\n"), ord("0")):
            if other == whole[position]:
                continue
            path.write_bytes(whole[:position] + bytes([other]) + whole[position + 1 :])
            with pytest.raises(WoodshedError, match=r"checkpoint\.json"):
                read_checkpoint(tmp_path / "copy")


def test_an_earlier_one_can_be_chosen_where_the_newest_is_damaged(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (newest_checkpoint(tmp_path / "copy") / "arrays.npz").write_bytes(b"nothing")
    with pytest.raises(WoodshedError, match=r"0002-step-200/arrays\.npz is damaged"):
        resume(tmp_path / "copy", settings_of(folder, steps=250))
    chosen = tmp_path / "copy" / "checkpoints" / "0001-step-150"
    result = resume(tmp_path / "copy", settings_of(folder, steps=250), checkpoint=chosen)
    assert result.env_steps == 250


def test_what_is_no_checkpoint_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match="there is no checkpoint"):
        resume(folder, settings_of(folder, steps=250), checkpoint=tmp_path / "none")
    with pytest.raises(WoodshedError, match="is no checkpoint of"):
        resume(folder, settings_of(folder, steps=250), checkpoint=tmp_path)
    with pytest.raises(WoodshedError, match=r"checkpoint\.json is missing"):
        read_checkpoint(tmp_path)


def test_a_crash_while_one_is_written_leaves_those_before(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    copy = tmp_path / "copy"
    before = list_checkpoints(copy)
    (copy / "checkpoints" / ".0003-step-250.01234567").mkdir()  # as SIGKILL leaves it
    (copy / "checkpoints" / ".0003-step-250.01234567" / "arrays.npz").touch()
    (copy / "checkpoints" / ".somebody's").touch()
    assert list_checkpoints(copy) == before
    with pytest.raises(ZeroDivisionError), new_checkpoint(copy, 300, 2) as (aside, _):
        (aside / str(1 // 0)).touch()
    assert list_checkpoints(copy) == before
    hidden = [path.name for path in (copy / "checkpoints").glob(".*")]
    assert hidden == [".somebody's"]


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """A disk that refuses to write on, as a full one does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_refuses_leaves_the_checkpoint_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", steps=100)
    before = list_checkpoints(tmp_path / "run")
    settings = settings_of(tmp_path / "run", steps=200, checkpoint_every=60)
    with (
        no_file_longer_than(7_000),
        pytest.raises(
            WoodshedError, match=r"no checkpoint .* step 200: .*: File too large; .*-100 is"
        ),
    ):
        resume(tmp_path / "run", settings, reporter=LineReporter(200))
    assert list_checkpoints(tmp_path / "run") == before
    assert not list((tmp_path / "run" / "checkpoints").glob(".*"))
    said = capsys.readouterr().out
    assert said.count("File too large") == 3  # at 120, 180 and the end; the run went on
    assert metrics_of(tmp_path / "run")[-1]["env_steps"] == 200
    resume(tmp_path / "run")
    assert [path.name for path in list_checkpoints(tmp_path / "run")][-1] == "0004-step-200"


def test_unchanged_replay_files_are_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 2**10)
    run(tmp_path / "run", steps=150, checkpoint_every=75, keep_checkpoints=3)
    settings = settings_of(tmp_path / "run", steps=225)
    resume(tmp_path / "run", settings)  # what a checkpoint was loaded from is shared too
    nodes = [
        {path.name: path.stat().st_ino for path in (checkpoint / "replay").iterdir()}
        for checkpoint in list_checkpoints(tmp_path / "run")
    ]
    assert len(nodes) == 3
    for earlier, later in pairwise(nodes):
        shared = [name for name in earlier if later.get(name) == earlier[name]]
        assert len(shared) >= 2
        assert len(later) > len(earlier)
