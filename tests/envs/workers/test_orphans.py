"""No worker outlives the process that started it, however that ends and whatever it is doing."""

import json
import signal
import subprocess
import sys
import time

import pytest
from tests.envs.workers.faulty import is_gone

SCRIPT = """
import json, os, signal, subprocess, sys, time
import gymnasium, numpy as np
from woodshed.envs import WorkerVector

class Hanging(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    def __init__(self, lane): self.lane = lane
    def reset(self, *, seed=None, options=None):
        self.simulator = subprocess.Popen(["sleep", "600"])
        self.time = 0
        return np.zeros(1, np.float32), {}
    def step(self, action):
        self.time += 1
        while self.time > 1 and self.lane == 0: pass
        if self.time > 1: time.sleep(600)
        info = {"pids": [os.getpid(), self.simulator.pid]}
        return np.zeros(1, np.float32), 0.0, False, False, info

def ending(name):
    if name == "exception": raise RuntimeError("the end")
    if name in ("SIGTERM", "SIGKILL"): os.kill(os.getpid(), getattr(signal, name))
    if name == "fork" and os.fork() > 0: os.kill(os.getpid(), signal.SIGKILL)
    if name == "fork": sys.stdin.read()

vector = WorkerVector([lambda: Hanging(0), lambda: Hanging(1)], 0, ("pids",), workers=2)
vector.reset()
pids = vector.step(np.zeros((2, 1))).info["pids"].ravel().tolist()
vector.send(np.zeros((2, 1)))
time.sleep(0.3)
print(json.dumps(pids), flush=True)
ending(sys.argv[1])
"""
ENDINGS = {"return": 0, "exception": 1, "SIGTERM": -signal.SIGTERM, "SIGKILL": -signal.SIGKILL}


def test_no_process_is_left_behind() -> None:
    parents = {
        name: subprocess.Popen(
            [sys.executable, "-c", SCRIPT, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for name in (*ENDINGS, "fork")
    }
    for name, parent in parents.items():
        assert parent.stdout is not None
        pids = json.loads(parent.stdout.readline())
        assert len(pids) == 4
        assert parent.wait(timeout=60) == ENDINGS.get(name, -signal.SIGKILL), name
        deadline = time.monotonic() + 10
        while not all(map(is_gone, pids)):
            if time.monotonic() > deadline:
                pytest.fail(f"{name}: {[pid for pid in pids if not is_gone(pid)]} are left")
            time.sleep(0.05)
        parent.communicate()  # the fork waits for the end of its input
