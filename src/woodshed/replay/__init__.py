"""The replay engine: it keeps episodes, and makes what is learnt from when a batch is sampled.

`draw` start rows (`pick`, `priorities`), lengths (`windows`) and goals (`goals`), then `relabel`
for hindsight, `reduce` to reward and discount, `collect` the arrays.
"""

from woodshed.replay.batch import Batch, SequenceBatch
from woodshed.replay.buffer import ReplayBuffer
from woodshed.replay.episode import Episode, OpenEpisode
from woodshed.replay.frames import FrameStack
from woodshed.replay.hindsight import Hindsight
from woodshed.replay.priorities import Priorities

__all__ = [
    "Batch",
    "Episode",
    "FrameStack",
    "Hindsight",
    "OpenEpisode",
    "Priorities",
    "ReplayBuffer",
    "SequenceBatch",
]
