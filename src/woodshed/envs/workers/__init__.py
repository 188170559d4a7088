"""Environments in worker processes: a failure costs one episode, not the run."""
