"""The replay engine: it keeps episodes, and makes what is learnt from when a batch is sampled.

`pick` start rows, `windows` from there on, `goals` and `relabel` for hindsight, `reduce` to reward
and discount, `collect` the arrays.
"""

from woodshed.replay.batch import Batch
from woodshed.replay.buffer import ReplayBuffer
from woodshed.replay.hindsight import Hindsight

__all__ = ["Batch", "Hindsight", "ReplayBuffer"]
