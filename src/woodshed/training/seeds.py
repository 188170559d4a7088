"""One run seed, and from it a seed for each thing that draws at random."""

from typing import NamedTuple

import numpy as np


class Seeds(NamedTuple):
    """Independent seeds, 31 bits each."""

    environments: int
    """Of the training episodes."""
    evaluation: int
    """Of the evaluation episodes."""
    replay: int
    """Of what is sampled."""
    actions: int
    """Of the random actions before learning."""
    algorithm: int
    """Of the networks, exploration and updates."""


def derive_seeds(seed: int) -> Seeds:
    """The seeds of a run, by numpy's `SeedSequence`."""
    state = np.random.SeedSequence(seed).generate_state(len(Seeds._fields))
    return Seeds(*(int(word) >> 1 for word in state))
