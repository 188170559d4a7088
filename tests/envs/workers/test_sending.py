"""What reaches the workers: environments of all kinds, and nothing that they do not need."""

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.envs.toys import Counting

from woodshed.envs import WorkerVector
from woodshed.errors import WoodshedError

NO_ACTION = np.zeros((1, 1), np.float32)


def run_script(code: str, folder: Path) -> str:
    (folder / "script.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_without_a_main_guard_and_all_that_only_it_knows(tmp_path: Path) -> None:
    """An id registered in the script, of a class in it; a lambda; a module beside the script."""
    (tmp_path / "beside.py").write_text("LENGTH = 4\n")
    out = run_script(
        """
import sys
import jax
import beside
import gymnasium, numpy as np
from woodshed.envs import WorkerVector
jax.numpy.zeros(3).block_until_ready()

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 99, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    def __init__(self, scale=1): self.scale = scale
    def reset(self, *, seed=None, options=None):
        self.time = 0
        return np.zeros(1, np.float32), {}
    def step(self, action):
        self.time += 1
        heavy = ("jax", "numba", "woodshed.replay", "woodshed.training", "script")
        info = {"loaded": sum(name in sys.modules for name in heavy)}
        reached = np.full(1, self.time * self.scale, np.float32)
        return reached, 0.0, self.time == beside.LENGTH, False, info

gymnasium.register("Mine-v3", Mine, max_episode_steps=9, kwargs={"scale": 2})
gymnasium.register("By/Lambda-v0", lambda: Mine(5), order_enforce=False)
envs = ["Mine-v3", "By/Lambda-v0", "Mine", lambda: Mine(beside.LENGTH)]
vector = WorkerVector(envs, 0, ("loaded",), workers=2)
vector.reset()
step = vector.step(np.zeros((4, 1)))
print(step.next_observation.ravel().tolist(), step.info["loaded"].tolist())
for _ in range(3): step = vector.step(np.zeros((4, 1)))
print(step.terminated.tolist())
""",
        tmp_path,
    )
    assert out == "[2.0, 5.0, 2.0, 4.0] [0, 0, 0, 0]\n[True, True, True, True]\n"


def test_an_id_of_a_module_on_the_parents_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_tasks_for_test_sending.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Sent-v0', 'tests.envs.toys:Counting', max_episode_steps=3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    vector = WorkerVector(["my_tasks_for_test_sending:Sent-v0"], 0, workers=1)
    try:
        vector.reset()
        assert vector.step(NO_ACTION).stepped.all()
    finally:
        vector.close()
        del gymnasium.registry["Sent-v0"]


def test_a_closure_is_sent_by_value() -> None:
    lengths = np.full(1 << 20, 2)  # more than a socket holds

    class Local(Counting):
        def __init__(self) -> None:
            super().__init__((int(lengths[-1]),))

    vector = WorkerVector([Local, partial(Counting, (3,))], 0, workers=1)
    try:
        vector.reset()
        action: Any = np.zeros((2, 1))
        ends = [vector.step(action).terminated.tolist() for _ in range(3)]
        assert ends == [[False, False], [True, False], [False, True]]
    finally:
        vector.close()


def test_what_cannot_be_pickled_is_refused_in_one_line() -> None:
    lock = threading.Lock()

    def make() -> Counting:
        with lock:
            return Counting()

    with pytest.raises(WoodshedError, match="cannot be sent to a worker process: TypeError") as no:
        WorkerVector([make], 0, workers=1)
    assert "\n" not in str(no.value)
    with pytest.raises(WoodshedError, match="unknown environment 'CartPol-v1'"):
        WorkerVector(["CartPol-v1"], 0, workers=1)
