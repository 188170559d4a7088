"""Episodes that are refused leave everything as it was."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.reference.replay import same
from tests.replay.line import POSITION

from woodshed.errors import WoodshedError
from woodshed.replay import Episode, ReplayBuffer

T = 8
"""Steps of the refused pieces: more than the ring of six rows takes."""


def make() -> ReplayBuffer:
    """Two lanes; lane 0 is open at 2, lane 1 has ended."""
    info = {"mass": spaces.Box(0, 9, (), np.float32)}
    buffer = ReplayBuffer(POSITION, POSITION, 10, n_envs=2, info_space=info)
    buffer.extend(0, piece(2, start=0))
    buffer.extend(1, piece(2, start=0)._replace(ending="truncated"))
    return buffer


def piece(steps: int = T, start: float = 2.0) -> Episode:
    return Episode(
        observation=np.arange(start, start + steps + 1)[:, None],
        action=np.arange(steps)[:, None] / 10,
        reward=np.arange(steps) / 4,
        ending="open",
        info={"mass": np.arange(steps) % 9},
    )


def spoilt(leaf: Any, index: int, value: float = np.nan) -> Any:
    result = np.array(leaf, np.float64)
    result[index] = value
    return result


GOOD = piece()
BAD: list[tuple[str, dict[str, Any]]] = [
    ("ending", {"ending": "done"}),
    ("ending", {"ending": ""}),
    ("ending", {"ending": None}),
    ("transition", piece(0)._asdict()),
    ("transition", {"reward": np.float64(1.0)}),
    ("observation", {"observation": np.arange(2.0, 2 + T)[:, None]}),
    ("observation", {"observation": np.arange(2.0, 4 + T)[:, None]}),
    ("observation", {"observation": np.arange(2.0, 3 + T)}),
    ("observation", {"observation": {"observation": np.arange(2.0, 3 + T)[:, None]}}),
    ("observation", {"observation": np.float64(2.0)}),
    ("action", {"action": np.zeros((T + 1, 1))}),
    ("action", {"action": np.zeros((T, 2))}),
    ("reward", {"reward": np.zeros((T, 1))}),
    ("observation", {"observation": spoilt(GOOD.observation, 4)}),
    ("observation", {"observation": spoilt(GOOD.observation, T, np.inf)}),
    ("action", {"action": spoilt(GOOD.action, T - 1)}),
    ("reward", {"reward": spoilt(GOOD.reward, T - 1, -np.inf)}),
    ("mass", {"info": {"mass": spoilt(GOOD.info["mass"], 5)}}),
    ("mass", {"info": {}}),
    ("mass", {"info": {"mass": np.zeros(T - 1)}}),
    ("speed", {"info": {"mass": np.zeros(T), "speed": np.zeros(T)}}),
]


def assert_untouched(buffer: ReplayBuffer) -> None:
    """The same batch as from a buffer that refused nothing, and still open where it was."""
    other = make()
    for one in (buffer, other):
        one.extend(0, piece(1))
    assert len(buffer) == len(other) == 5
    left, right = buffer.sample(64), other.sample(64)
    assert all(same(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(("names", "change"), BAD)
def test_what_is_no_episode_is_refused(names: str, change: dict[str, Any]) -> None:
    buffer = make()
    for lane in (0, 1):
        with pytest.raises(WoodshedError, match=names) as error:
            buffer.extend(lane, GOOD._replace(**change))
        assert "\n" not in str(error.value)
    assert_untouched(buffer)


def test_a_piece_that_does_not_go_on_where_its_lane_is_open() -> None:
    buffer = make()
    with pytest.raises(WoodshedError, match=r"next_observation.*cut\(\)") as error:
        buffer.extend(0, piece(start=3.0))
    assert "\n" not in str(error.value)
    assert_untouched(buffer)
    buffer.extend(1, piece(start=3.0))  # there an episode may begin anywhere


@pytest.mark.parametrize("lane", [-1, 2, 100, 0.5])
def test_a_lane_that_is_not_there(lane: Any) -> None:
    buffer = make()
    with pytest.raises(WoodshedError, match=r"\blane\b"):
        buffer.extend(lane, GOOD)
    assert_untouched(buffer)


def test_adding_goes_on_where_a_piece_left_off_only() -> None:
    buffer = make()
    arrays: dict[str, Any] = {"action": np.zeros((2, 1)), "reward": np.zeros(2)}
    arrays |= {name: np.zeros(2, bool) for name in ("terminated", "truncated")}
    arrays |= {"info": {"mass": np.zeros(2)}, "mask": np.array([True, False])}
    with pytest.raises(WoodshedError, match="next_observation"):
        buffer.add(observation=np.ones((2, 1)), next_observation=np.ones((2, 1)), **arrays)
    buffer.add(observation=np.full((2, 1), 2.0), next_observation=np.ones((2, 1)), **arrays)
    assert len(buffer) == 5
