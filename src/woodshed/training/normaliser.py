"""What observations are normalised by, brought up to date as they come."""

from typing import Any

import gymnasium
import jax
import numpy as np

from woodshed.connectors import Scale, init_statistics, to_scale, update_statistics
from woodshed.envs import Tree

ROWS_AT_ONCE = 64
"""Observations are taken in when so many have come: one by one, the arithmetic would take as long
as acting does."""


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
            rows = jax.tree.map(lambda *leaves: np.concatenate(leaves), *self._waiting)
            self._statistics = update_statistics(self._statistics, rows)
            self._waiting, self._rows = [], 0
            self.scale = self._new_scale()

    def _new_scale(self) -> Scale:
        # On the device once, not at each of the calls that take it.
        scale: Scale = jax.device_put(to_scale(self._statistics))
        return scale
