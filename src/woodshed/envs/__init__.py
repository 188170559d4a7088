"""Environments: making them, seeding their episodes, stepping several as one.

Importing this package registers the built-in tasks (`woodshed/PointReach-v0`) with Gymnasium.
"""

from woodshed.envs.goals import (
    GoalFunctions,
    goal_functions,
    has_goals,
    warn_of_other_rewards,
)
from woodshed.envs.gymnasium_vector import GymnasiumVector
from woodshed.envs.in_process import InProcessVector
from woodshed.envs.info import probe_info_space
from woodshed.envs.make import EnvironmentFactory, make_environment
from woodshed.envs.seeding import SeededEpisodes, episode_seed
from woodshed.envs.spaces import bounded_box
from woodshed.envs.tasks import register_tasks
from woodshed.envs.trees import Tree
from woodshed.envs.vector import Remade, SeededVector, VectorEnvironment, VectorStep
from woodshed.envs.workers.failure import Failure
from woodshed.envs.workers.vector import WorkerVector
from woodshed.errors import EnvironmentFailedError

__all__ = [
    "EnvironmentFactory",
    "EnvironmentFailedError",
    "Failure",
    "GoalFunctions",
    "GymnasiumVector",
    "InProcessVector",
    "Remade",
    "SeededEpisodes",
    "SeededVector",
    "Tree",
    "VectorEnvironment",
    "VectorStep",
    "WorkerVector",
    "bounded_box",
    "episode_seed",
    "goal_functions",
    "has_goals",
    "make_environment",
    "probe_info_space",
    "warn_of_other_rewards",
]

register_tasks()
