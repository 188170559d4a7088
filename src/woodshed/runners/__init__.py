"""Acting in environments: what is between a vector environment and the replay."""

from woodshed.runners.episodes import Episode, EpisodeTracker
from woodshed.runners.runner import Runner, normalised_actions

__all__ = ["Episode", "EpisodeTracker", "Runner", "normalised_actions"]
