"""What reward functions are given, whatever its dtypes and shapes."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from woodshed.replay import Hindsight, ReplayBuffer
from woodshed.replay.recipe import Numbers, numbers_of

STEPS = 12
GOAL = spaces.Box(-np.inf, np.inf, (2, 3))
INFO: dict[str, gymnasium.Space[Any]] = {
    "byte": spaces.Box(0, 255, (5,), np.uint8),
    "bits": spaces.MultiBinary(3),
    "count": spaces.Discrete(100),
    "matrix": spaces.Box(-np.inf, np.inf, (2, 2)),
    "scalar": spaces.Box(-np.inf, np.inf, ()),
    "short": spaces.Box(0, 1000, (3,), np.int16),
}


def info(step: int) -> dict[str, Any]:
    return {
        "byte": np.arange(5) + step,
        "bits": np.array([step >> bit & 1 for bit in range(3)]),
        "count": np.array(step),
        "matrix": np.array([[step, step + 1], [step + 2, step + 3]]),
        "scalar": np.array(step * 0.5),
        "short": np.array([step, 2 * step, 3 * step]),
    }


def observe(step: int) -> dict[str, Any]:
    goal = np.arange(6).reshape(2, 3) + 10 * step
    return {"achieved_goal": goal[None], "desired_goal": np.full((1, 2, 3), -1)}


@pytest.mark.parametrize("float_dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sequences", [False, True])
def test_goals_and_info_of_each_step(float_dtype: Any, sequences: bool) -> None:
    """The info is of the step, the achieved goal of the row after it, the new goal the last one."""
    seen = set[int]()
    is_probed = True

    def reward(achieved: Any, desired: Any, columns: dict[str, Any]) -> Any:
        if not is_probed:
            for m in range(len(achieved)):
                step = int(columns["count"][m])
                seen.add(step)
                assert (achieved[m] == observe(step + 1)["achieved_goal"][0]).all()
                assert (desired[m] == observe(STEPS)["achieved_goal"][0]).all()
                for key, value in info(step).items():
                    assert columns[key][m].shape == value.shape
                    assert (columns[key][m] == value).all()
        return np.zeros(achieved.shape[:-2])

    buffer = ReplayBuffer(
        spaces.Dict(achieved_goal=GOAL, desired_goal=GOAL),
        spaces.Box(-1, 1, (1,)),
        100,
        n_step=3,
        hindsight=Hindsight("final", k=1e9, compute_reward=reward),
        info_space=INFO,
        float_dtype=float_dtype,
    )
    is_probed = False
    for step in range(STEPS):
        buffer.add(
            observation=observe(step),
            action=[[0]],
            reward=[0],
            terminated=[False],
            truncated=[step == STEPS - 1],
            next_observation=observe(step + 1),
            info={key: value[None] for key, value in info(step).items()},
        )
    if sequences:
        buffer.sample_sequences(50, 4, 2)
    else:
        buffer.sample(7)  # another number of steps than the room has
        buffer.sample(50)
    assert seen == set(range(STEPS))


def test_numbers_come_out_as_they_went_in() -> None:
    numbers = Numbers._make(range(2, 2 + len(Numbers._fields)))
    numbers = numbers._replace(gamma=0.5, log_discount=-0.1, zero_padding=True)
    assert numbers_of(np.array(numbers, np.float64)) == numbers
