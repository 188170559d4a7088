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
from woodshed.envs.info import probe_info_space
from woodshed.envs.make import EnvironmentFactory, make_environment
from woodshed.envs.seeding import SeededEpisodes, episode_seed
from woodshed.envs.spaces import bounded_box
from woodshed.envs.tasks import register_tasks
from woodshed.envs.trees import Tree
from woodshed.envs.vector import InProcessVector, VectorEnvironment, VectorStep

__all__ = [
    "EnvironmentFactory",
    "GoalFunctions",
    "GymnasiumVector",
    "InProcessVector",
    "SeededEpisodes",
    "Tree",
    "VectorEnvironment",
    "VectorStep",
    "bounded_box",
    "episode_seed",
    "goal_functions",
    "has_goals",
    "make_environment",
    "probe_info_space",
    "warn_of_other_rewards",
]

register_tasks()
