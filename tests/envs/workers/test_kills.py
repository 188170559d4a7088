"""Workers that are killed from outside, again and again."""

import os
import signal
from typing import Any

import numpy as np
from tests.envs.workers.faulty import Faulty, actions

from woodshed.envs import InProcessVector, WorkerVector

SEED, LANES, STEPS, KILLS = 11, 4, 90, 20


def test_twenty_kills_leave_the_other_lanes_as_they_are() -> None:
    """Workers 1 to 3 are killed, sometimes two at once; worker 0 is not."""
    random = np.random.default_rng(0)
    reference = InProcessVector([Faulty] * LANES, SEED)
    vector = WorkerVector([Faulty] * LANES, SEED, ("pid",), workers=LANES, max_failures=KILLS)
    expected: Any = reference.reset()
    observation: Any = vector.reset()
    pids: list[int] = []
    killed = 0
    stepped, cuts = np.zeros(LANES, int), np.zeros(LANES, int)
    try:
        for time in range(STEPS):
            push = float(random.normal())
            if pids and killed < KILLS and time % 7 == 0:
                victims = random.choice([1, 2, 3], size=2, replace=False).tolist()
                for victim in victims:
                    os.kill(pids[victim], signal.SIGKILL)
                killed += len(victims)
            step: Any = vector.step(actions(LANES, push=push))
            # A lane that was cut plays another episode from here on: put the reference there too.
            wanted: Any = reference.step(actions(LANES, push=push))
            for lane in np.flatnonzero(step.cut).tolist():
                reference.environments[lane].next_episode = int(vector.episodes[lane])
            first: Any = reference.begin(step.cut)
            expected = np.where(step.cut[:, None], first, wanted.observation)
            np.testing.assert_array_equal(step.observation, expected)
            alive = step.stepped
            np.testing.assert_array_equal(
                step.next_observation[alive], wanted.next_observation[alive]
            )
            np.testing.assert_array_equal(step.reward[alive], wanted.reward[alive])
            np.testing.assert_array_equal(vector.episodes, reference.episodes)
            assert (step.stepped ^ step.cut).all()
            assert {lane for f in step.failures for lane in f.lanes} == set(
                np.flatnonzero(step.cut).tolist()
            )
            stepped += step.stepped
            cuts += step.cut
            observation = step.observation
            known = np.where(step.stepped, step.info["pid"], pids or 0)
            pids = known.astype(int).tolist()
    finally:
        vector.close()
    assert observation.shape == (LANES, 2)
    assert killed == KILLS
    assert cuts.sum() == KILLS
    assert cuts[0] == 0
    assert (stepped + cuts == STEPS).all()
