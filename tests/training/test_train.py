import json
import os
import signal
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.training.line import Line
from tests.training.tasks import REACH, run, small_settings

from woodshed.envs import make_environment
from woodshed.errors import WoodshedError
from woodshed.files import read_arrays
from woodshed.training import Evaluator, load_policy, train


def _metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_run_folder_holds_all(tmp_path: Path) -> None:
    result = run(tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "settings.json",
        "metrics.jsonl",
        "tensorboard",
        "policy",
        "policy-last",
        "checkpoints",
        "result.json",
    }
    written = json.loads((tmp_path / "run" / "result.json").read_text())
    assert written["env_steps"] == result.env_steps == 200
    assert written["updates"] == result.updates == 150
    assert written["episodes"] == 4
    assert 0 <= written["success_rate"] <= 1
    assert written["steps_per_second"] == pytest.approx(200 / written["train_seconds"])
    assert not written["interrupted"]
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["env"] == REACH
    assert settings["algorithm"]["name"] == "sac"
    assert settings["steps"] == 200
    lines = _metrics(tmp_path / "run")
    reports = [line["env_steps"] for line in lines if "updates" in line]
    evaluations = [line["env_steps"] for line in lines if "evaluation/return" in line]
    assert reports == [50, 100, 150, 200]
    assert evaluations == [100, 200]
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_same_seed_same_run(tmp_path: Path) -> None:
    def what(folder: Path) -> Any:
        timed = ("seconds", "per_second")
        lines = [
            {k: v for k, v in line.items() if not k.endswith(timed)} for line in _metrics(folder)
        ]
        return lines, read_arrays(folder / "policy-last" / "policy.npz")

    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run(tmp_path / name, seed=seed)
    (lines_a, policy_a), (lines_b, policy_b), (lines_c, policy_c) = (
        what(tmp_path / name) for name in "abc"
    )
    assert lines_a == lines_b
    assert lines_a != lines_c
    for name, array in policy_a.items():
        np.testing.assert_array_equal(array, policy_b[name])
    assert any(not np.array_equal(policy_a[name], policy_c[name]) for name in policy_a)


def test_evaluations_do_not_change_the_run(tmp_path: Path) -> None:
    run(tmp_path / "a", evaluate_every=0)
    run(tmp_path / "b", evaluate_every=50)
    a, b = (read_arrays(tmp_path / name / "policy-last" / "policy.npz") for name in "ab")
    for name, array in a.items():
        np.testing.assert_array_equal(array, b[name])


@pytest.mark.parametrize(
    ("n_envs", "ratio", "steps", "expected_steps", "expected_updates"),
    [(1, 0.25, 90, 90, 10), (3, 2.5, 90, 90, 100), (4, 1.0, 90, 92, 42), (5, 0.0, 90, 90, 0)],
)
def test_replay_ratio_is_exact(
    tmp_path: Path,
    n_envs: int,
    ratio: float,
    steps: int,
    expected_steps: int,
    expected_updates: int,
) -> None:
    result = run(tmp_path / "run", n_envs=n_envs, updates_per_step=ratio, steps=steps)
    assert result.env_steps == expected_steps
    assert result.updates == expected_updates


def test_learning_from_the_first_step_of_a_long_episode(tmp_path: Path) -> None:
    result = train(
        lambda: Line(length=1_000),
        small_settings(learning_starts=1, steps=20, n_envs=1, evaluate_every=0, final_episodes=1),
        tmp_path / "run",
    )
    assert result.updates == 19
    assert result.success_rate is None
    assert result.solved_at_step is None


def test_hindsight_from_the_first_step_of_a_long_episode(tmp_path: Path) -> None:
    def long_reach() -> gymnasium.Env[Any, Any]:
        return gymnasium.wrappers.TimeLimit(make_environment(REACH).unwrapped, 500)

    result = train(
        long_reach,
        small_settings(learning_starts=1, steps=20, n_envs=1, evaluate_every=0, final_episodes=1),
        tmp_path / "run",
    )
    assert result.updates == 19


def test_actions_are_scaled_to_the_environment(tmp_path: Path) -> None:
    made: list[Line] = []

    def make() -> Line:
        made.append(Line())
        return made[-1]

    train(make, small_settings(updates_per_step=0, n_envs=1), tmp_path / "run")
    seen = np.array(max((env.seen_actions for env in made), key=len)[:50])
    assert seen.min() < -1.8  # bounds are -2 and 2, the first 50 actions uniform
    assert seen.max() > 1.8
    assert np.abs(seen).max() <= 2


def test_saved_policy_acts_as_the_one_that_was_trained(tmp_path: Path) -> None:
    run(tmp_path / "run")
    policy = load_policy(tmp_path / "run" / "policy-last")
    env = make_environment(REACH)
    observation, _ = env.reset(seed=0)
    batch = {key: value[None] for key, value in observation.items()}
    action = policy(batch)
    assert action.shape == (1, 2)
    np.testing.assert_array_equal(action, load_policy(tmp_path / "run" / "policy-last")(batch))
    # By hand: normalise, one hidden layer, tanh of the mean.
    arrays = read_arrays(tmp_path / "run" / "policy-last" / "policy.npz")
    x = np.concatenate(
        [
            (batch[key][0] - arrays[f"scale.mean['{key}']"]) * arrays[f"scale.inverse_std['{key}']"]
            for key in ("observation", "desired_goal")
        ]
    ).clip(-5, 5)
    layers = [
        (arrays[f"actor.network.layers[{i}].weight"], arrays[f"actor.network.layers[{i}].bias"])
        for i in range(2)
    ]
    hidden = np.maximum(layers[0][0] @ x + layers[0][1][:, 0], 0)
    mean = (layers[1][0] @ hidden + layers[1][1][:, 0])[:2]
    np.testing.assert_allclose(action[0], np.tanh(mean), rtol=1e-4, atol=1e-5)


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("mine")
    with pytest.raises(WoodshedError, match="exists already; give another folder"):
        run(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["precious"]


@pytest.mark.parametrize("changes", [{"hindsight_k": 2.0}, {"info_keys": ("is_success",)}])
def test_settings_of_hindsight_without_it_are_refused(tmp_path: Path, changes: Any) -> None:
    (name,) = changes
    with pytest.raises(WoodshedError, match=f"{name} does nothing without hindsight"):
        run(tmp_path / "run", hindsight="none", **changes)


def test_hindsight_without_goals_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match=r"hindsight 'future' was asked for, but .* no goals"):
        run(tmp_path / "run", env="Pendulum-v1", hindsight="future")
    assert not (tmp_path / "run").exists()


def test_nan_reward_names_the_environment(tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match="reward of environment 0 holds nan"):
        train(lambda: Line(reward=np.nan), small_settings(), tmp_path / "run")


def test_an_error_leaves_what_there_is(tmp_path: Path) -> None:
    class Breaking(Line):
        def step(self, action: Any) -> Any:
            if len(self.seen_actions) == 70:
                raise RuntimeError("the motor is on fire")
            return super().step(action)

    with pytest.raises(RuntimeError, match="on fire"):
        train(Breaking, small_settings(n_envs=1, evaluate_every=0), tmp_path / "run")
    left = json.loads((tmp_path / "run" / "result.json").read_text())
    assert left["interrupted"]
    assert left["env_steps"] == 70
    load_policy(tmp_path / "run" / "policy-last")


def test_observation_statistics_are_of_what_is_acted_on(tmp_path: Path) -> None:
    """One-step episodes: the observation after each action is final, and never acted on."""

    class Lottery(Line):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.position = self.np_random.normal(100, 10, 1).astype(np.float32)
            self.steps = 0
            return self.position.copy(), {}

        def step(self, action: Any) -> Any:
            return np.zeros(1, np.float32), 0.0, True, False, {}

    train(Lottery, small_settings(evaluate_every=0), tmp_path / "run")
    scale = read_arrays(tmp_path / "run" / "policy-last" / "policy.npz")
    assert abs(float(scale["scale.mean['']"][0]) - 100) < 3
    assert 8 < 1 / float(scale["scale.inverse_std['']"][0]) < 12


def test_divergence_ends_the_run_with_a_line(tmp_path: Path) -> None:
    with pytest.raises(WoodshedError, match=r"training diverged: .* is not finite at step"):
        train(lambda: Line(reward=3e38), small_settings(gamma=1.0, steps=400), tmp_path / "run")


def test_ctrl_c_stops_in_good_order(tmp_path: Path) -> None:
    class Interrupting(Line):
        def step(self, action: Any) -> Any:
            if len(self.seen_actions) == 60:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(action)

    result = train(
        Interrupting,
        small_settings(steps=100_000, n_envs=1, evaluate_every=0),
        tmp_path / "run",
    )
    assert result.interrupted
    assert result.env_steps == 61
    assert result.updates == 11
    assert result.return_mean is None
    assert json.loads((tmp_path / "run" / "result.json").read_text())["interrupted"]
    load_policy(tmp_path / "run" / "policy")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_last_steps_are_reported_too(tmp_path: Path) -> None:
    run(tmp_path / "run", steps=130)
    reports = [line for line in _metrics(tmp_path / "run") if "updates" in line]
    assert [line["env_steps"] for line in reports] == [50, 100, 130]


def test_divergence_between_reports_is_found(tmp_path: Path) -> None:
    settings = small_settings(gamma=1.0, log_every=10**6, evaluate_every=0)
    with pytest.raises(WoodshedError, match=r"training diverged: [^.]*$"):  # no policy was saved
        train(lambda: Line(reward=3e38), settings, tmp_path / "run")
    assert not (tmp_path / "run" / "policy").exists()


def test_interrupted_final_evaluation_leaves_policies_and_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Evaluator, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", evaluate_every=0)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["interrupted"]
    assert (result["env_steps"], result["updates"], result["episodes"]) == (200, 150, 0)
    assert result["return_mean"] is None
    for name in ("policy", "policy-last"):
        load_policy(tmp_path / "run" / name)


def test_one_environment_for_all_is_refused(tmp_path: Path) -> None:
    one = Line()
    with pytest.raises(WoodshedError, match="returned the same object twice"):
        train(lambda: one, small_settings(n_envs=1), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_environments_are_closed_also_where_the_run_cannot_begin(tmp_path: Path) -> None:
    made: list[Any] = []

    class Closing(Line):
        closed = False

        def close(self) -> None:
            self.closed = True

    def make() -> Line:
        made.append(Closing())
        return made[-1]  # type: ignore[no-any-return]

    with pytest.raises(WoodshedError, match="no goals"):
        train(make, small_settings(hindsight="final"), tmp_path / "run")
    assert len(made) == 3
    assert all(env.closed for env in made)


def test_matrices_as_actions_in_episodes_of_one_step(tmp_path: Path) -> None:
    shape = (2, 2)

    class Bandit(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Discrete(3)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, shape, np.float32)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return int(self.np_random.integers(3)), {}

        def step(self, action: Any) -> Any:
            assert np.shape(action) == shape
            return 0, float(np.sum(action)), True, True, {}

    result = train(Bandit, small_settings(steps=60, n_envs=1), tmp_path / "run")
    assert (result.env_steps, result.updates) == (60, 10)
    policy = load_policy(tmp_path / "run" / "policy")
    assert policy(np.array([0, 2])).shape == (2, 2, 2)
