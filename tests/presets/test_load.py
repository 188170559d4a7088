from pathlib import Path

import pytest

from woodshed.errors import WoodshedError
from woodshed.presets import preset_names, preset_settings, preset_text

ENV = "Any-v0"


def _write(tmp_path: Path, text: str) -> str:
    (tmp_path / "mine.toml").write_text(text)
    return str(tmp_path / "mine.toml")


def test_the_promised_presets_are_there() -> None:
    assert preset_names() == ["FetchReach-v4", "HalfCheetah-v5", "Pendulum-v1"]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_reads(name: str) -> None:
    assert preset_settings(name, "sac").steps >= 10_000
    assert preset_text(name).startswith("# ")


def test_environment_has_its_own_preset_and_others_the_defaults() -> None:
    reach = preset_settings("FetchReach-v4", "sac")
    assert (reach.gamma, reach.algorithm.hidden) == (0.95, (64, 64))
    other = preset_settings(ENV, "sac")
    assert (other.gamma, other.algorithm.hidden) == (0.99, (256, 256))
    assert preset_settings(ENV, "sac", "FetchReach-v4") == reach


def test_file_is_read_over_the_defaults(tmp_path: Path) -> None:
    path = _write(tmp_path, "[sac]\nn_step = [1, 5]\nbatch_size = 7\n[sac.algorithm]\ncritics = 3")
    settings = preset_settings(ENV, "sac", path)
    assert (settings.n_step, settings.batch_size, settings.algorithm.critics) == ((1, 5), 7, 3)
    assert settings.gamma == 0.99


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sac = 5", "sac is 5, expected a table"),
        ("[sac]\nalgorithm = 5", "algorithm is 5, expected a table"),
        ("", "it has none at all"),
        ("[tqc]", "it has tqc"),
        ("[sac]\nn_step = 3", "Expected `array`, got `int`"),
        ("[sac]\nhindsight = 'past'", "Invalid enum value 'past'"),
        ("[sac.algorithm]\ncritics = 0", "critics is 0"),
        ("[sac", "is no TOML file"),
    ],
)
def test_mistakes_in_a_file_name_it(tmp_path: Path, text: str, expected: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(WoodshedError, match=rf"mine\.toml.*{expected}"):
        preset_settings(ENV, "sac", path)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("", "preset '' is unknown"),
        ("Nothing-v0", "preset 'Nothing-v0' is unknown; there is FetchReach-v4"),
        ("no/such.toml", "there is no preset file no/such.toml"),
    ],
)
def test_unknown_preset_is_named(preset: str, expected: str) -> None:
    with pytest.raises(WoodshedError, match=expected):
        preset_settings("FetchReach-v4", "sac", preset)


def test_unknown_algorithm_is_named() -> None:
    with pytest.raises(WoodshedError, match="algorithm 'sax' is unknown; there is sac"):
        preset_settings(ENV, "sax")
