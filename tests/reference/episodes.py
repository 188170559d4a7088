"""Which episodes a log still holds: what `episodes()` must give."""

from typing import Any, NamedTuple

import numpy as np
from tests.reference.replay import Array, Ending, ReferenceReplay, Tree


class StoredEpisode(NamedTuple):
    """What is left of an episode: T transitions between T+1 observations."""

    observation: Tree
    action: Array
    reward: Array
    ending: Ending
    info: dict[str, Array]
    recurrent_state: Tree | None


def stack_trees(trees: list[Any]) -> Any:
    """Trees of one shape to a tree with a leading axis; None of Nones."""
    if trees[0] is None:
        return None
    if isinstance(trees[0], dict):
        return {key: stack_trees([tree[key] for tree in trees]) for key in trees[0]}
    return np.stack(trees)


def stored_episodes(replay: ReferenceReplay) -> list[StoredEpisode]:
    """Every episode with a stored transition, lane by lane, oldest first, without lost rows."""
    found = []
    for lane in range(replay.n_envs):
        for episode in replay.stored(lane):
            rows = episode.rows[replay.kept(lane, episode)[1] - episode.first :]
            if len(rows) < 2:
                continue
            found.append(
                StoredEpisode(
                    observation=stack_trees([row.observation for row in rows]),
                    action=stack_trees([row.action for row in rows[:-1]]),
                    reward=np.array([row.reward for row in rows[:-1]], np.float32),
                    ending=episode.ending,
                    info=stack_trees([row.info for row in rows[:-1]]),
                    recurrent_state=stack_trees([row.recurrent_state for row in rows[:-1]]),
                )
            )
    return found
