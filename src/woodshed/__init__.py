"""Woodshed: off-policy reinforcement learning on an episode replay."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from woodshed.training import Policy

__version__ = "0.1.0"


def load_policy(folder: "str | os.PathLike[str]") -> "Policy":
    """Load a trained policy, to be called on observations; needs no environment and no replay.

    Args:
        folder: of a run, whose best policy is loaded, or of a policy in one.

    Raises:
        WoodshedError: when there is none, or a file is damaged; the message names it.
    """
    # Here and not above: the replay must be importable without jax.
    from woodshed.training.policy import load_policy as load
    from woodshed.training.run_folder import policy_folder

    return load(policy_folder(folder))
