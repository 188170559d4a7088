"""Algorithms: frozen settings with pure functions `init`, `act` and `update`."""

from woodshed.algorithms.algorithm import Algorithm
from woodshed.algorithms.sac import SAC, SACState
from woodshed.algorithms.transitions import Transitions

ALGORITHMS: dict[str, type[SAC]] = {SAC.name: SAC}
"""Every algorithm by the name it has in presets and on the command line."""

__all__ = ["ALGORITHMS", "SAC", "Algorithm", "SACState", "Transitions"]
