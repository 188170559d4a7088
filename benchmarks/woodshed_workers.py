"""Worker: seconds for a step of 8 environments, in this process, in workers, in Gymnasium's."""

import argparse
import time
from enum import StrEnum
from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AsyncVectorEnv

from benchmarks.measure import Measurement, median_seconds, print_result
from benchmarks.workload import action_space, observation_space
from woodshed.algorithms import SAC
from woodshed.connectors import make_encoder
from woodshed.envs import (
    GymnasiumVector,
    InProcessVector,
    VectorEnvironment,
    WorkerVector,
    make_environment,
)
from woodshed.learner import make_act

PACKAGES = ("woodshed", "jax", "numpy", "gymnasium", "gymnasium-robotics", "mujoco")
N_ENVS = 8
SLOW = "step of 2 ms, and the policy"
NOTHING = "step of no work, FetchPush's shapes"
FETCH = "step of FetchPush-v4"
SLOW_SECONDS = 2e-3
CALLS = {SLOW: 300, NOTHING: 3_000, FETCH: 300}


class Stepping(StrEnum):
    """How the environments are stepped."""

    IN_PROCESS = "in process"
    TWO_WORKERS = "2 workers"
    GYMNASIUM = "Gymnasium's AsyncVectorEnv, 8 workers"


class Shaped(gymnasium.Env[Any, Any]):
    """FetchPush's shapes and episodes of 50 steps, each step as long as asked."""

    def __init__(self, seconds: float) -> None:
        self.observation_space, self.action_space = observation_space(), action_space()
        self.seconds, self.steps = seconds, 0
        self.observation = {
            key: np.zeros(space.shape or ()) for key, space in observation_space().items()
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return self.observation, {}

    def step(self, action: Any) -> Any:
        end = time.perf_counter() + self.seconds
        while self.seconds and time.perf_counter() < end:
            pass  # at work, not asleep: a simulator keeps its core busy
        self.steps += 1
        return self.observation, -1.0, False, self.steps == 50, {"is_success": 0.0}


def make_vector(environment: str, stepping: Stepping) -> VectorEnvironment:
    seconds = SLOW_SECONDS if environment == SLOW else 0.0
    env: Any = "FetchPush-v4" if environment == FETCH else partial(Shaped, seconds)
    if stepping is Stepping.IN_PROCESS:
        return InProcessVector([env] * N_ENVS, run_seed=0)
    if stepping is Stepping.TWO_WORKERS:
        return WorkerVector([env] * N_ENVS, run_seed=0, workers=2)
    return GymnasiumVector(AsyncVectorEnv([partial(make_environment, env)] * N_ENVS))


def seconds_of_a_step(environment: str, stepping: Stepping) -> float:
    """Median over many vector steps."""
    vector = make_vector(environment, stepping)
    observation = vector.reset()
    encoder = make_encoder(vector.observation_space)
    algorithm = SAC(hidden=(256, 256))
    act = make_act(algorithm, encoder)
    size = int(np.prod(vector.action_space.shape or ()))
    actor = algorithm.init(jax.random.key(0), encoder.size, size).actor
    key = jax.random.key(0)
    still = np.zeros((N_ENVS, size), np.float32)

    def one() -> None:
        nonlocal observation
        if environment == SLOW:
            action = np.asarray(act(actor, None, observation, key, explore=True))
        else:
            action = still
        observation = vector.step(action).observation

    seconds = median_seconds(one, calls=CALLS[environment])
    vector.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", choices=[SLOW, NOTHING, FETCH], required=True)
    parser.add_argument("--stepping", type=Stepping, choices=list(Stepping), required=True)
    chosen = parser.parse_args()
    seconds = seconds_of_a_step(chosen.environment, chosen.stepping)
    name = f"{chosen.environment}, {chosen.stepping}"
    print_result([Measurement(name, 0, N_ENVS, seconds)], PACKAGES)


if __name__ == "__main__":
    main()
