"""Networks: equinox modules whose leaves are all arrays."""

from woodshed.networks.actor import GaussianActor, SquashedGaussian, init_actor
from woodshed.networks.critic import CriticEnsemble, init_critics
from woodshed.networks.mlp import MLP, Linear, init_mlp

__all__ = [
    "MLP",
    "CriticEnsemble",
    "GaussianActor",
    "Linear",
    "SquashedGaussian",
    "init_actor",
    "init_critics",
    "init_mlp",
]
