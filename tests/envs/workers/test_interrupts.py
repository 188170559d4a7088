"""A caller that is interrupted while it waits."""

import signal
import time
from typing import Any

import numpy as np
import pytest
from tests.envs.workers.faulty import Faulty, actions

from woodshed.envs import InProcessVector, WorkerVector

SEED = 2


class Slow(Faulty):
    def step(self, action: Any) -> Any:
        time.sleep(1.0)
        return super().step(action)


def test_an_interrupted_receive_goes_on_and_a_reset_drops_what_is_under_way() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    vector = WorkerVector([Faulty, Slow], SEED, ("height",), workers=2)
    reference = InProcessVector([Faulty] * 2, SEED, ("height",))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        vector.reset()
        reference.reset()
        vector.send(actions(2))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            vector.receive()
        np.testing.assert_equal(vector.receive(), reference.step(actions(2)))

        vector.send(actions(2))
        np.testing.assert_array_equal(vector.reset(), reference.reset())
        np.testing.assert_equal(vector.step(actions(2)), reference.step(actions(2)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        vector.close()
