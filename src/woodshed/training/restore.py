"""Bringing back from a checkpoint what a run was made of.

Environments cannot be saved. The episode that each was in is made again: from its seed, by taking
its stored actions once more; what comes of them must be what is stored.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
from numpy.typing import NDArray

from woodshed.connectors import scale_action
from woodshed.envs import Remade, SeededVector, Tree, bounded_box
from woodshed.envs.trees import copy_tree, take_rows, write_rows, zeros_tree
from woodshed.errors import WoodshedError
from woodshed.files import generator_of
from woodshed.replay import OpenEpisode, ReplayBuffer
from woodshed.runners import Runner
from woodshed.training.checkpoint import ABOUT_FILE, ARRAYS_FILE, Checkpoint
from woodshed.training.named_arrays import from_named, under
from woodshed.training.normaliser import Normaliser

OBSERVATION, STATE, SENT = "observation", "state", "sent"
NORMALISER, LOSSES = "normaliser/", "losses/"
"""What the arrays of a checkpoint are named by."""


def first_episodes(checkpoint: Checkpoint, lanes: int) -> list[int]:
    """Number of the episode that each environment of the resumed run begins with.

    With as many environments as before that is the one it was in; with others no episode goes on,
    so it is the next one.
    """
    before = checkpoint.about.lanes.episodes
    if len(before) == lanes:
        return before
    return [before[lane] + 1 if lane < len(before) else 0 for lane in range(lanes)]


def restored_state(checkpoint: Checkpoint, template: Any) -> Any:
    """The algorithm's state.

    Args:
        checkpoint: that holds it.
        template: a state for the present settings.

    Raises:
        WoodshedError: the settings call for a state of other shapes.
    """
    try:
        state = from_named(STATE, template, checkpoint.arrays)
    except (KeyError, ValueError) as error:
        raise WoodshedError(
            f"{checkpoint.folder / ARRAYS_FILE} does not fit the settings: {error}; the networks "
            "of a resumed run cannot be changed"
        ) from None
    # Memory of its own: the learner gives the state's memory away (donates it).
    return jax.tree.map(lambda leaf: jax.device_put(leaf, may_alias=False), state)


def restore_normaliser(
    checkpoint: Checkpoint, normaliser: Normaliser, observation_space: gymnasium.Space[Any]
) -> None:
    """Let observations be normalised by what was seen before.

    Raises:
        WoodshedError: the run saw other observations.
    """
    try:
        normaliser.restore(under(NORMALISER, checkpoint.arrays), observation_space)
    except (KeyError, ValueError) as error:
        raise WoodshedError(
            f"{checkpoint.folder / ARRAYS_FILE} does not fit the environment: {error}"
        ) from None


def restored_runner(
    checkpoint: Checkpoint,
    environments: SeededVector,
    buffer: ReplayBuffer,
    info_keys: tuple[str, ...],
    say: Callable[[str], None],
) -> Runner:
    """A runner whose environments are in the episodes that they were in.

    Args:
        checkpoint: to go on from.
        environments: made with `first_episodes`.
        buffer: loaded from the checkpoint. Episodes that do not come back are cut in it.
        info_keys: what the buffer stores of the info.
        say: told what did not come back.
    """
    lanes = checkpoint.about.lanes
    generator = generator_of(checkpoint.about.action_generator, checkpoint.folder / ABOUT_FILE)
    if len(lanes.episodes) != environments.n_envs:
        say(
            f"{environments.n_envs} environments go on where {len(lanes.episodes)} were: all begin "
            "new episodes, and the run is not what it would have been, bit for bit"
        )
        return Runner(environments, buffer, generator, info_keys)
    observation, lost = _remake(checkpoint, environments, buffer)
    for lane, why in lost.items():
        say(
            f"environment {lane} did not come back as it was ({why}): its open episode is cut, it "
            "begins a new one, and the run is not what it would have been, bit for bit"
        )
    mask = np.isin(np.arange(environments.n_envs), list(lost))
    if lost:
        buffer.cut(mask)
        first = environments.begin(mask)
        write_rows(observation, mask, take_rows(first, mask))
    runner = Runner(environments, buffer, generator, info_keys, observation=observation)
    runner.tracker.return_sum[:] = lanes.return_sum
    runner.tracker.length[:] = lanes.length
    runner.tracker.forget(mask)
    return runner


def _remake(
    checkpoint: Checkpoint, environments: SeededVector, buffer: ReplayBuffer
) -> tuple[Tree, dict[int, str]]:
    """Make the open episodes again: observations `[L, …]` to act on, and why which did not come."""
    lanes = checkpoint.about.lanes
    bounds = bounded_box(environments.action_space)
    stored = [buffer.open_episode(lane) for lane in range(environments.n_envs)]
    empty = np.zeros((0, *bounds.shape), np.float32)
    actions = [
        # Without its first steps nothing can be made again.
        None
        if _is_lost(part, length)
        else scale_action(
            empty if part is None else np.asarray(part.episode.action), bounds.low, bounds.high
        )
        for part, length in zip(stored, lanes.length, strict=True)
    ]
    remade = environments.remake(lanes.episodes, actions)
    template = zeros_tree(environments.observation_space, environments.n_envs)
    observation = from_named(OBSERVATION, template, checkpoint.arrays)
    lost = {}
    for lane, (part, again) in enumerate(zip(stored, remade, strict=True)):
        acted_on = jax.tree.map(lambda leaf, lane=lane: leaf[lane], observation)
        why = _difference(part, again, acted_on, lanes.length[lane])
        if why is not None:
            lost[lane] = why
    return copy_tree(observation), lost


def _difference(
    stored: OpenEpisode | None, remade: Remade | None, acted_on: Tree, length: int
) -> str | None:
    """In what an episode that was made again is another than before; None: in nothing."""
    if _is_lost(stored, length):
        return "the replay does not hold the first steps of its episode"
    if remade is None:
        return "it failed while its episode was made again"
    if remade.ended or len(remade.reward) != length:
        return f"its episode ended after step {len(remade.reward)}"
    if stored is not None:
        pairs = _pairs(stored.episode.observation, remade.observation)
        for step in range(length + 1):
            if not all(_same(theirs[step], ours[step]) for theirs, ours in pairs):
                return f"observation {step} of its episode differs"
        for step, (theirs, ours) in enumerate(
            zip(np.asarray(stored.episode.reward), remade.reward, strict=True)
        ):
            if theirs != np.float32(ours):
                return f"reward {step} of its episode differs"
    if not all(_same(theirs, ours[-1]) for theirs, ours in _pairs(acted_on, remade.observation)):
        return "its last observation differs"
    return None


def _is_lost(stored: OpenEpisode | None, length: int) -> bool:
    return length > 0 and (stored is None or stored.first_step > 0)


def _pairs(stored: Any, remade: Tree) -> list[tuple[Any, Any]]:
    """The leaves of two trees, side by side; jax puts both in the order of their keys."""
    return list(zip(jax.tree.leaves(stored), jax.tree.leaves(remade), strict=True))


def _same(stored: NDArray[Any], remade: NDArray[Any]) -> bool:
    """Whether they are the same numbers, as the replay stores them."""
    return bool(np.array_equal(stored, np.asarray(remade).astype(stored.dtype)))
