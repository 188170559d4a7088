from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from woodshed.training.normaliser import ROWS_AT_ONCE, Normaliser

SPACE = spaces.Box(-np.inf, np.inf, (1,), np.float32)


def rows(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)[:, None]


def moments(normaliser: Normaliser) -> tuple[float, float]:
    scale: Any = normaliser.scale
    return float(scale.mean[""][0]), float(1 / scale.inverse_std[""][0])


def test_first_observations_count_at_once() -> None:
    assert moments(Normaliser(SPACE, rows(1, 3))) == (2.0, 1.0)


def test_one_observation_shifts_and_does_not_scale() -> None:
    assert moments(Normaliser(SPACE, rows(5))) == (5.0, 1.0)


def test_rows_are_taken_in_together() -> None:
    normaliser = Normaliser(SPACE, rows(0, 0))
    for _ in range(ROWS_AT_ONCE - 1):
        normaliser.observe(rows(4))
    assert moments(normaliser)[0] == 0.0  # not yet
    normaliser.observe(rows(4))
    n, m = ROWS_AT_ONCE, ROWS_AT_ONCE + 2
    mean, deviation = moments(normaliser)
    assert mean == np.float32(4 * n / m)
    np.testing.assert_allclose(deviation, np.sqrt(16 * n / m - (4 * n / m) ** 2), rtol=1e-6)


def test_observations_may_be_overwritten_afterwards() -> None:
    normaliser = Normaliser(SPACE, rows(0, 0))
    shared = rows(4, 4)
    for _ in range(ROWS_AT_ONCE // 2):
        shared[:] = 4
        normaliser.observe(shared)
        shared[:] = 1_000
    assert moments(normaliser)[0] == np.float32(4 * ROWS_AT_ONCE / (ROWS_AT_ONCE + 2))
