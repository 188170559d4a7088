"""Acting in environments: what is between a vector environment and the replay."""

from woodshed.runners.runner import Episode, EpisodeTracker, Runner, normalised_actions

__all__ = ["Episode", "EpisodeTracker", "Runner", "normalised_actions"]
