"""Worker: training steps per second of Stable-Baselines3. Runs in the peer's environment."""

import time
from typing import Any

import gymnasium
import gymnasium_robotics
from stable_baselines3 import SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from benchmarks.measure import Measurement, print_result
from benchmarks.train_worker import (
    BATCH_SIZE,
    ENVIRONMENT,
    LEARNING_STARTS,
    TrainSettings,
    parse_settings,
)

PACKAGES = ("stable-baselines3", "torch", "numpy", "gymnasium", "gymnasium-robotics", "mujoco")


class Clock:
    """Notes the time after every timed vector step, before its updates.

    Between two notes lie one vector step and the updates that it owes.
    """

    def __init__(self, settings: TrainSettings) -> None:
        self.settings = settings
        self.notes: list[tuple[int, float]] = []  # environment steps, seconds

    def __call__(self, local_variables: dict[str, Any], global_variables: dict[str, Any]) -> bool:
        """The library's callback after each vector step; False ends the training."""
        env_steps = local_variables["self"].num_timesteps
        if env_steps >= self.settings.clock_starts:
            self.notes.append((env_steps, time.perf_counter()))
        return not self.notes or self.notes[-1][1] - self.notes[0][1] < self.settings.most_seconds

    @property
    def steps_per_second(self) -> float:
        """Environment steps per second of the timed part."""
        (first_step, first_time), (last_step, last_time) = self.notes[0], self.notes[-1]
        return (last_step - first_step) / (last_time - first_time)


def train(settings: TrainSettings) -> float:
    """Train on the CPU with the library's defaults for all that is not named here."""
    gymnasium.register_envs(gymnasium_robotics)
    hindsight: dict[str, Any] = {
        "replay_buffer_class": HerReplayBuffer,
        "replay_buffer_kwargs": {"n_sampled_goal": 4, "goal_selection_strategy": "future"},
    }
    model = SAC(
        "MultiInputPolicy",
        make_vec_env(ENVIRONMENT, n_envs=settings.n_envs),
        batch_size=BATCH_SIZE,
        learning_starts=LEARNING_STARTS,
        train_freq=1,
        gradient_steps=settings.n_envs,
        policy_kwargs={"net_arch": list(settings.hidden)},
        device="cpu",
        seed=0,
        **(hindsight if settings.hindsight else {}),
    )
    clock = Clock(settings)
    model.learn(settings.total_steps, callback=clock)
    return clock.steps_per_second


def main() -> None:
    settings = parse_settings()
    print_result([Measurement(settings.name, 0, settings.n_envs, train(settings))], PACKAGES)


if __name__ == "__main__":
    main()
