"""Well-known environment families, and the package that each comes from."""

import re
from typing import NamedTuple


class Family(NamedTuple):
    """Environments of one package."""

    ids: str
    """Regular expression for the beginning of their ids."""
    module: str | None
    """Importing it registers the ids; None: Gymnasium itself registers them."""
    install: str
    """What to type to get the package."""


FAMILIES = (
    Family(
        r"Fetch(Reach|Push|Slide|PickAndPlace)"
        r"|Hand(Reach|Manipulate)|Adroit|FrankaKitchen|PointMaze|AntMaze",
        "gymnasium_robotics",
        "pip install 'woodshed[robotics]'",
    ),
    Family(
        r"(HalfCheetah|Ant|Hopper|Humanoid|HumanoidStandup|InvertedPendulum"
        r"|InvertedDoublePendulum|Pusher|Reacher|Swimmer|Walker2d)(-v\d+)?$",
        None,
        "pip install 'gymnasium[mujoco]'",
    ),
    Family(
        r"(LunarLander|LunarLanderContinuous|BipedalWalker|BipedalWalkerHardcore|CarRacing)"
        r"(-v\d+)?$",
        None,
        "pip install swig, then pip install 'gymnasium[box2d]'",
    ),
    Family(r"(phys2d|tabular)/", None, "pip install 'gymnasium[jax]'"),
    Family(
        r"Panda(Reach|Push|Slide|PickAndPlace|Stack|Flip)", "panda_gym", "pip install panda-gym"
    ),
    Family(
        r"(highway|merge|roundabout|parking|intersection|racetrack)-",
        "highway_env",
        "pip install highway-env",
    ),
    Family(r"ALE/", "ale_py", "pip install ale-py"),
)


def family_of(env_id: str) -> Family | None:
    """The family that an id belongs to, None where it is not a known one."""
    return next((family for family in FAMILIES if re.match(family.ids, env_id)), None)
