"""Woodshed: off-policy reinforcement learning on an episode replay."""

__version__ = "0.1.0"
