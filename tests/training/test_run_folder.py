from pathlib import Path

import pytest
from tests.training.tasks import small_settings

from woodshed.errors import WoodshedError
from woodshed.training.run_folder import (
    check_run_folder,
    default_run_folder,
    folder_unless_it_fails,
    new_run_folder,
    read_settings,
    write_settings,
)


def test_settings_come_back(tmp_path: Path) -> None:
    settings = small_settings(n_step=(1, 5), policy_keys=("observation",), gamma=0.9)
    write_settings(tmp_path, "Some-v0", settings)
    assert read_settings(tmp_path) == ("Some-v0", settings)


def test_an_environment_made_by_a_function_has_no_name(tmp_path: Path) -> None:
    write_settings(tmp_path, lambda: None, small_settings())  # type: ignore[arg-type, return-value]
    assert read_settings(tmp_path)[0] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", "names no env"),
        ("{}", "names no env"),
        ('{"env": "A-v0"}', "algorithm None is unknown"),
        ('{"env": "A-v0", "algorithm": 5}', "algorithm is 5, expected a table of settings"),
        ('{"env": "A-v0", "algorithm": {"name": "sac"}, "steps": "x"}', "Expected `int`"),
        ('{"env": "A-v0", "algorithm": {"name": "sac"}, "steps": 0}', "steps is 0"),
        ('{"env": "A-v0", "algorithm": {"name": "sac"}, "stepps": 1}', "no setting 'stepps'"),
        ('{"env"', "damaged"),
    ],
)
def test_damaged_settings_are_named(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(WoodshedError, match=rf"settings\.json.*{expected}"):
        read_settings(tmp_path)


def test_new_folder_is_made_or_taken_empty(tmp_path: Path) -> None:
    assert new_run_folder(tmp_path / "a" / "b").is_dir()
    new_run_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / ".hidden").touch()
    with pytest.raises(WoodshedError, match="exists already"):
        new_run_folder(tmp_path / "a" / "b")


def test_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WoodshedError, match="exists already"):
        new_run_folder(tmp_path / "file")
    with pytest.raises(WoodshedError, match=r"cannot make the run folder .*: Not a directory$"):
        new_run_folder(tmp_path / "file" / "run")


def test_nothing_is_left_of_a_run_that_cannot_begin(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for out in (tmp_path / "a" / "b", tmp_path / "there"):
        with pytest.raises(ZeroDivisionError), folder_unless_it_fails(out) as folder:
            (folder / str((folder / "log").write_text("") // 0)).touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]
    with pytest.raises(WoodshedError, match="exists already"), folder_unless_it_fails(tmp_path):
        pass
    assert (tmp_path / "there").exists()


def test_default_folder_is_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for _ in range(3):
        folder = default_run_folder("my:space/Env-v0", "sac", 7)
        names.append(str(folder))
        new_run_folder(folder)
    first = "runs/my-space-Env-v0-sac-seed7"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match="is not the folder of a training run"):
        check_run_folder(tmp_path)
    with pytest.raises(WoodshedError, match="there is no folder"):
        check_run_folder(tmp_path / "none")
