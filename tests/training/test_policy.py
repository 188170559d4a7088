import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from woodshed.algorithms import SAC
from woodshed.connectors import make_encoder
from woodshed.errors import WoodshedError
from woodshed.files import read_arrays, write_arrays
from woodshed.networks import init_actor
from woodshed.training import Policy, load_policy, save_policy

PLANE = spaces.Box(-1.0, 1.0, (2,), np.float32)
GOALS = spaces.Dict({"observation": PLANE, "achieved_goal": PLANE, "desired_goal": PLANE})
ACTION = spaces.Box(np.array([-1, 0], np.float32), np.array([3, 10], np.float32))


def make_policy(space: gymnasium.Space[Any] = GOALS, action: spaces.Box = ACTION) -> Policy:
    encoder = make_encoder(space)
    rng = np.random.default_rng(0)
    return Policy(
        algorithm=SAC(hidden=(3,)),
        encoder=encoder,
        actor=init_actor(rng, encoder.size, int(np.prod(action.shape)), (3,)),
        scale=None,
        low=action.low,
        high=action.high,
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_policy(tmp_path / "policy", make_policy())
    return tmp_path / "policy"


def test_actions_are_the_environments_with_its_shape(tmp_path: Path) -> None:
    bounds = spaces.Box(np.array([[-1, 0, 5]], np.float32), np.array([[3, 10, 5]], np.float32))
    save_policy(tmp_path / "policy", make_policy(PLANE, bounds))
    policy = load_policy(tmp_path / "policy")
    zeros = [np.zeros_like(layer.weight) for layer in policy.actor.network.layers]
    still = replace(policy.actor.network.layers[0], weight=zeros[0])
    last = replace(
        policy.actor.network.layers[1],
        weight=zeros[1],
        bias=np.array([[0], [9], [-9], [0], [0], [0]], np.float32),  # means: 0, far up, far down
    )
    network = replace(policy.actor.network, layers=(still, last))
    policy = replace(policy, actor=replace(policy.actor, network=network))
    action = policy(np.zeros((4, 2), np.float32))
    np.testing.assert_allclose(action, np.tile([[[1, 10, 5]]], (4, 1, 1)), atol=1e-5)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (PLANE, "it sees observation of 2, desired_goal of 2"),
        (spaces.Discrete(4), "other observations"),
        (spaces.Dict({**GOALS.spaces, "observation": spaces.Box(-1, 1, (3,))}), "observations"),
        (spaces.Dict({"observation": PLANE}), "other observations"),
    ],
)
def test_another_observation_space_is_refused(space: gymnasium.Space[Any], expected: str) -> None:
    with pytest.raises(WoodshedError, match=expected):
        make_policy().check_spaces(space, ACTION)


def test_a_policy_of_one_array_refuses_a_dict() -> None:
    policy = make_policy(PLANE)
    policy.check_spaces(PLANE, ACTION)
    with pytest.raises(WoodshedError, match="it sees one array of 2, but the environment gives"):
        policy.check_spaces(GOALS, ACTION)


def test_other_actions_are_refused_and_other_bounds_are_not() -> None:
    policy = make_policy()
    policy.check_spaces(GOALS, ACTION)
    policy.check_spaces(GOALS, PLANE)
    with pytest.raises(WoodshedError, match=r"actions of shape \(2,\), .* takes \(3,\)"):
        policy.check_spaces(GOALS, spaces.Box(-1, 1, (3,)))
    with pytest.raises(WoodshedError, match="Discrete"):
        policy.check_spaces(GOALS, spaces.Discrete(2))


def test_an_extra_key_that_the_policy_does_not_see_is_no_matter() -> None:
    make_policy().check_spaces(spaces.Dict({**GOALS.spaces, "camera": PLANE}), ACTION)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"algorithm": 5},
        {"algorithm": {"name": ["sac"]}},
        {"algorithm": {"name": "sax"}},
        {"algorithm": {"name": "sac", "hidden": "wide"}},
        {"encoder": {"parts": 1, "clip": 5.0}},
        {"encoder": None},
    ],
)
def test_damaged_description_is_named(saved: Path, change: dict[str, Any]) -> None:
    path = saved / "policy.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(WoodshedError, match=r"policy\.json"):
        load_policy(saved)


def test_description_without_a_field_is_named(saved: Path) -> None:
    path = saved / "policy.json"
    whole = json.loads(path.read_text())
    for field in whole:
        path.write_text(json.dumps({name: whole[name] for name in whole if name != field}))
        with pytest.raises(WoodshedError, match=r"policy\.json"):
            load_policy(saved)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (np.zeros((3, 5), np.float32), r"float32 \(3, 5\), expected float32 \(3, 4\)"),
        (np.zeros((3, 4)), r"float64 \(3, 4\), expected float32 \(3, 4\)"),
        (np.full((3, 4), "1"), "expected float32"),
        (None, "does not fit"),
    ],
)
def test_arrays_that_do_not_fit_are_named(saved: Path, wrong: Any, expected: str) -> None:
    name = "actor.network.layers[0].weight"
    arrays = read_arrays(saved / "policy.npz")
    if wrong is None:
        del arrays[name]
    else:
        arrays[name] = wrong
    write_arrays(saved / "policy.npz", arrays)
    with pytest.raises(WoodshedError, match=expected):
        load_policy(saved)
