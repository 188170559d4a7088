"""What observations are normalised by, brought up to date as they come."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import jax
import numpy as np
from numpy.typing import NDArray

from woodshed.connectors import (
    Scale,
    init_statistics,
    statistics_from_arrays,
    statistics_to_arrays,
    to_scale,
    update_statistics,
)
from woodshed.envs import Tree
from woodshed.envs.trees import zeros_tree
from woodshed.training.named_arrays import from_named, to_named

ROWS_AT_ONCE = 64
"""Observations are taken in when so many have come: one by one, the arithmetic would take as long
as acting does."""
WAITING = "waiting"


class Normaliser:
    """Running statistics of the observations of a run."""

    def __init__(self, observation_space: gymnasium.Space[Any], first: Tree) -> None:
        """Begin with the first observations `[L, …]`."""
        self._statistics = update_statistics(init_statistics(observation_space), first)
        self._waiting: list[Tree] = []
        self._rows = 0
        self.scale = self._new_scale()

    def observe(self, observation: Tree) -> None:
        """Take in the observations `[L, …]` that are acted on next, now or a little later."""
        self._waiting.append(jax.tree.map(np.array, observation))
        self._rows += len(jax.tree.leaves(observation)[0])
        if self._rows >= ROWS_AT_ONCE:
            self._statistics = update_statistics(self._statistics, self._waiting_rows())
            self._waiting, self._rows = [], 0
            self.scale = self._new_scale()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it has seen, as named arrays to be saved."""
        waiting = to_named(WAITING, self._waiting_rows()) if self._waiting else {}
        return {**statistics_to_arrays(self._statistics), **waiting}

    def restore(
        self, arrays: Mapping[str, NDArray[Any]], observation_space: gymnasium.Space[Any]
    ) -> None:
        """Go on from what another one saved.

        Raises:
            WoodshedError: the arrays belong to another observation space.
            KeyError, ValueError: likewise, of the observations that were not taken in yet.
        """
        waiting = [array for name, array in arrays.items() if name.startswith(WAITING)]
        statistics = {n: a for n, a in arrays.items() if not n.startswith(WAITING)}
        self._statistics = statistics_from_arrays(statistics, observation_space)
        self._rows = len(waiting[0]) if waiting else 0
        template = zeros_tree(observation_space, self._rows)
        self._waiting = [from_named(WAITING, template, arrays)] if waiting else []
        self.scale = self._new_scale()

    def _waiting_rows(self) -> Tree:
        rows: Tree = jax.tree.map(lambda *leaves: np.concatenate(leaves), *self._waiting)
        return rows

    def _new_scale(self) -> Scale:
        # On the device once, not at each of the calls that take it.
        scale: Scale = jax.device_put(to_scale(self._statistics))
        return scale
