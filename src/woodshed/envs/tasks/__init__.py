"""Small goal tasks in pure numpy, for first runs and for tests."""

import gymnasium


def register_tasks() -> None:
    """Register the built-in tasks with Gymnasium; calling it again changes nothing."""
    # Gymnasium warns when an id is registered twice, as a reload of the package would do.
    if "woodshed/PointReach-v0" not in gymnasium.registry:
        gymnasium.register(
            id="woodshed/PointReach-v0",
            entry_point="woodshed.envs.tasks.point_reach:PointReach",
            max_episode_steps=25,
        )
