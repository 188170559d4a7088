"""Training runs: the loop, evaluation, and what they leave in the run folder."""

from woodshed.training.evaluation import Evaluation, Evaluator
from woodshed.training.policy import Policy, load_policy, save_policy
from woodshed.training.result import Result
from woodshed.training.settings import Settings
from woodshed.training.settings_data import settings_from_data
from woodshed.training.train import resume, train

__all__ = [
    "Evaluation",
    "Evaluator",
    "Policy",
    "Result",
    "Settings",
    "load_policy",
    "resume",
    "save_policy",
    "settings_from_data",
    "train",
]
