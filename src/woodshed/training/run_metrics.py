"""What a report of the training says."""

from collections.abc import Iterable, Mapping, Sequence

import jax
import numpy as np

from woodshed.runners import Episode


def episode_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """Means over training episodes."""
    if not episodes:
        return {}
    success = [episode.success for episode in episodes]
    return {
        "train/return": float(np.mean([episode.return_sum for episode in episodes])),
        "train/length": float(np.mean([episode.length for episode in episodes])),
        **({} if np.isnan(success).any() else {"train/success": float(np.mean(success))}),
    }


def mean_losses(losses: Iterable[Mapping[str, jax.Array]]) -> dict[str, float]:
    """Means of what the updates reported."""
    return {f"learn/{name}": float(np.mean(values)) for name, values in columns(losses).items()}


def columns(losses: Iterable[Mapping[str, jax.Array]]) -> dict[str, np.ndarray]:
    """The numbers of all update calls, by name."""
    fetched = jax.device_get(list(losses))
    names = fetched[0] if fetched else ()
    return {name: np.array([values[name] for values in fetched]) for name in names}
