"""Run by `test_memory`: prints resident bytes before and after a million transitions, and these."""

import gc
import os
import sys
from pathlib import Path

import numpy as np
from gymnasium import spaces
from tests.replay.line import minus_one_away

from woodshed.replay import Episode, FrameStack, Hindsight, Priorities, ReplayBuffer

LANES = 4
STEPS = 500
GOAL = spaces.Box(-np.inf, np.inf, (3,), np.float32)
IMAGE = spaces.Box(0, 255, (16, 16), np.uint8)
SPACE = spaces.Dict({"observation": IMAGE, "achieved_goal": GOAL, "desired_goal": GOAL})


def resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    buffer = ReplayBuffer(
        SPACE,
        GOAL,
        10_000,
        n_envs=LANES,
        n_step=(1, 3),
        hindsight=Hindsight({"original": 0.5, "future": 0.5}, compute_reward=minus_one_away),
        priorities=Priorities(),
        frames=FrameStack(3),
        storage=sys.argv[1] if len(sys.argv) > 1 else None,
    )
    generator = np.random.default_rng(0)

    def write(transitions: int) -> int:
        written = 0
        while written < transitions:
            steps = int(generator.integers(1, STEPS))
            observation = {
                "observation": generator.integers(0, 256, (steps + 1, 16, 16), np.uint8),
                "achieved_goal": generator.normal(size=(steps + 1, 3)),
                "desired_goal": generator.normal(size=(steps + 1, 3)),
            }
            numbers = np.zeros(steps)
            episode = Episode(observation, np.zeros((steps, 3)), numbers, "truncated")
            buffer.extend(written % LANES, episode)
            written += steps
            batch = buffer.sample(64)
            buffer.update_priorities(batch.handle, np.abs(batch.reward) + 0.1)
            buffer.sample_sequences(8, length=4, burn_in=2)
        return written

    write(60_000)  # full, compiled, and the allocator has its pools
    before = resident()
    written = write(1_000_000)
    print(before, resident(), written)


if __name__ == "__main__":
    main()
