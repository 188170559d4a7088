import pytest

from woodshed.training.updates import exact_ratio, owed_updates


@pytest.mark.parametrize(
    ("n_envs", "ratio", "learning_starts", "steps", "expected"),
    [
        (1, 1.0, 100, 1_000, 900),
        (4, 1.0, 100, 1_000, 900),
        (8, 0.25, 100, 1_004, 227),  # the step to 1,008 is whole: 908 / 4
        (3, 2.5, 7, 300, 732),  # 293 x 2.5 = 732.5
        (5, 20.0, 5, 100, 1_900),
        (7, 0.1, 0, 1_001, 100),  # one tenth exactly, not the double above it
        (1, 0.0, 1, 50, 0),
        (4, 1.0, 1_000, 400, 0),  # over before learning starts
    ],
)
def test_total_is_exact_for_any_number_of_environments(
    n_envs: int, ratio: float, learning_starts: int, steps: int, expected: int
) -> None:
    updates = 0
    for env_steps in range(n_envs, steps + n_envs, n_envs):
        owed = owed_updates(env_steps, learning_starts, exact_ratio(ratio), updates)
        assert owed >= 0
        if env_steps <= learning_starts:
            assert owed == 0
        updates += owed
        if env_steps >= steps:
            break
    assert updates == expected


def test_third_is_carried_on() -> None:
    made = []
    updates = 0
    for env_steps in range(1, 11):
        owed = owed_updates(env_steps, 0, exact_ratio(0.3), updates)
        made.append(owed)
        updates += owed
    assert made == [0, 0, 0, 1, 0, 0, 1, 0, 0, 1]
