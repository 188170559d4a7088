from typing import Any

import pytest
from tests.training.tasks import small_settings

from woodshed.errors import WoodshedError
from woodshed.training import settings_from_data
from woodshed.training.settings_data import settings_to_data


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("steps", 0),
        ("n_envs", 0),
        ("learning_starts", 0),
        ("batch_size", 0),
        ("capacity", 0),
        ("evaluate_every", -1),
        ("evaluate_episodes", 0),
        ("final_episodes", 0),
        ("log_every", 0),
        ("updates_per_step", -0.1),
        ("updates_per_step", float("inf")),
        ("updates_per_step", float("nan")),
        ("observation_clip", 0.0),
        ("observation_clip", float("nan")),
        ("n_step", ()),
        ("n_step", (1, 2, 3)),
        ("n_step", 3),
    ],
)
def test_number_out_of_range_is_named(name: str, value: Any) -> None:
    with pytest.raises(WoodshedError, match=f"^{name} is "):
        small_settings(**{name: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalise_observations": False, "observation_clip": 3.0}, "observation_clip does noth"),
        ({"steps": 50, "learning_starts": 50}, "nothing would be learnt"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(changes: Any, message: str) -> None:
    with pytest.raises(WoodshedError, match=message):
        small_settings(**changes)


def test_plain_data_and_back() -> None:
    settings = small_settings(n_step=(1, 5), info_keys=("radius",), updates_per_step=0.25)
    data = settings_to_data(settings)
    assert data["algorithm"]["name"] == "sac"
    assert settings_from_data(data, "here") == settings
