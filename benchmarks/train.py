"""The training comparison: which runs are made, and which ratios the table shows."""

from dataclasses import replace

from benchmarks.collection import Job, Key
from benchmarks.peers import SB3, WOODSHED
from benchmarks.table import STEPS_PER_SECOND, Row, Side, Target
from benchmarks.train_worker import TrainSettings

SB3_ONE_THREAD = replace(SB3, name=f"{SB3.name}, 1 thread", environment={"OMP_NUM_THREADS": "1"})
"""The same with one torch thread, which is far faster where other programs use the cores too."""

COMPARED = (
    TrainSettings(hidden=(64, 64), n_envs=1, timed_steps=600),
    TrainSettings(hidden=(64, 64), n_envs=4, timed_steps=600),
    TrainSettings(hidden=(256, 256, 256), n_envs=1, timed_steps=400),
)
SPEED_TARGETS = {(64, 64): Target(at_least=4), (256, 256, 256): Target(at_least=1.6)}
"""By network, against the peer's default number of threads."""
HINDSIGHT_COST = TrainSettings(hidden=(64, 64), n_envs=1, timed_steps=3000)
"""Longer: a difference of 5 % is to be seen."""
HINDSIGHT_COST_TARGET = Target(at_most=1.05)


def compare_jobs() -> list[Job]:
    """One round: the sides in turn for each setting."""
    return [
        Job(peer, "train", settings.arguments())
        for settings in COMPARED
        for peer in (WOODSHED, SB3, SB3_ONE_THREAD)
    ]


def hindsight_jobs() -> list[Job]:
    """One round of the same Woodshed run with hindsight and without."""
    both = (HINDSIGHT_COST, HINDSIGHT_COST._replace(hindsight=False))
    return [Job(WOODSHED, "train", settings.arguments()) for settings in both]


def rows() -> list[Row]:
    """The table's training part."""
    speed = [
        Row(
            Side(WOODSHED.name, key),
            Side(peer.name, key),
            peer.name,
            STEPS_PER_SECOND,
            "our steps per second / theirs",
            True,
            SPEED_TARGETS[settings.hidden] if peer is SB3 else None,
        )
        for settings in COMPARED
        for key in [Key(settings.name, 0, settings.n_envs)]
        for peer in (SB3, SB3_ONE_THREAD)
    ]
    cost = Row(
        Side(WOODSHED.name, Key(HINDSIGHT_COST.name, 0, 1)),
        Side(WOODSHED.name, Key(HINDSIGHT_COST._replace(hindsight=False).name, 0, 1)),
        "Woodshed without hindsight",
        STEPS_PER_SECOND,
        "wall time with hindsight / without",
        False,
        HINDSIGHT_COST_TARGET,
    )
    return [*speed, cost]
