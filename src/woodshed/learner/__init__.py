"""The learner: compiled updates and compiled acting."""

from woodshed.learner.act import make_act
from woodshed.learner.update import make_update

__all__ = ["make_act", "make_update"]
