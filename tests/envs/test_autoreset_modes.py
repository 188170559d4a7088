"""Every way of stepping lanes plays the same episodes, bit for bit."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from tests.envs.toys import pendulum, point_reach, record, wandering

from woodshed.envs import GymnasiumVector, InProcessVector, SeededEpisodes

SEED = 7
MODES = list(AutoresetMode)
INFO_KEYS: dict[Callable[[], gymnasium.Env[Any, Any]], tuple[str, ...]] = {
    wandering: ("height", "pair"),
    pendulum: (),
    point_reach: ("is_success",),
}


def seeded(make: Callable[[], gymnasium.Env[Any, Any]], lane: int) -> gymnasium.Env[Any, Any]:
    return SeededEpisodes(make(), SEED, lane)


def flags(lane: list[dict[str, Any]], name: str) -> list[bool]:
    return [step[name] == ("bool", (), b"\x01") for step in lane]


@pytest.mark.parametrize("make", INFO_KEYS, ids=lambda make: make.__name__)
def test_sync_modes_play_what_the_in_process_vector_plays(make: Any) -> None:
    keys = INFO_KEYS[make]
    ours = record(InProcessVector([make] * 3, SEED, keys), 60)
    for mode in MODES:
        lanes = [partial(seeded, make, lane) for lane in range(3)]
        theirs = GymnasiumVector(SyncVectorEnv(lanes, autoreset_mode=mode), keys)
        assert record(theirs, 60) == ours, mode


@pytest.mark.parametrize("mode", MODES)
def test_async_modes_play_what_the_in_process_vector_plays(mode: AutoresetMode) -> None:
    keys = INFO_KEYS[wandering]
    ours = record(InProcessVector([wandering] * 2, SEED, keys), 40)
    lanes = [partial(seeded, wandering, lane) for lane in range(2)]
    # Spawned: a fork of a process with jax's threads may hang.
    theirs = GymnasiumVector(AsyncVectorEnv(lanes, context="spawn", autoreset_mode=mode), keys)
    try:
        assert record(theirs, 40) == ours
    finally:
        theirs.close()


def test_the_recorded_episodes_differ_and_end_in_both_ways() -> None:
    """Guards the tests above: equal records of dull episodes would prove little."""
    lanes = record(InProcessVector([wandering] * 3, SEED, ("height",)), 60)
    for lane in lanes:
        assert any(flags(lane, "terminated"))
        assert any(flags(lane, "truncated"))
    starts = {str(step["acted_on"]) for lane in lanes for step in lane}
    assert len(starts) == 180


def test_another_run_seed_plays_other_episodes() -> None:
    one = record(InProcessVector([point_reach], 1), 5)
    again = record(InProcessVector([point_reach], 1), 5)
    other = record(InProcessVector([point_reach], 2), 5)
    assert one == again
    assert one != other


def test_an_episode_can_be_made_again_alone() -> None:
    played = record(InProcessVector([wandering] * 2, SEED), 40)[1]
    ends = np.flatnonzero(np.logical_or(flags(played, "terminated"), flags(played, "truncated")))
    third = played[ends[1] + 1 : ends[2] + 1]

    vector = InProcessVector([wandering] * 2, SEED, first_episodes=[0, 2])
    first: Any = vector.reset()
    assert vector.episodes.tolist() == [0, 2]
    for step in third:
        action = np.frombuffer(step["action"][2], np.float32)
        got: Any = vector.step(np.stack([action, action]))
        position = step["next_observation"]["position"][2]
        assert got.next_observation["position"][1].tobytes() == position
    assert first["position"][1].tobytes() == third[0]["acted_on"]["position"][2]
