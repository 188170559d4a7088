"""The arrays that one step fills."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.envs.trees import Tree, copy_tree, take_rows


class StepArrays(NamedTuple):
    """Where a step is written: the fields of `VectorStep` that are arrays of every lane."""

    observation: Tree
    next_observation: Tree
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    success: NDArray[np.float64]

    def copied(self) -> "StepArrays":
        """Arrays that share no memory with these."""
        trees: Any = map(copy_tree, self)
        return StepArrays(*trees)

    def part(self, rows: slice) -> "StepArrays":
        """Views of these rows."""
        trees: Any = (take_rows(tree, rows) for tree in self)
        return StepArrays(*trees)
