"""Small steps between environment and algorithm: action scaling, statistics, encoding."""

from woodshed.connectors.actions import scale_action, unscale_action
from woodshed.connectors.encode import Encoder, default_policy_keys, make_encoder
from woodshed.connectors.statistics import (
    Scale,
    Statistics,
    init_statistics,
    statistics_from_arrays,
    statistics_to_arrays,
    to_scale,
    update_statistics,
)

__all__ = [
    "Encoder",
    "Scale",
    "Statistics",
    "default_policy_keys",
    "init_statistics",
    "make_encoder",
    "scale_action",
    "statistics_from_arrays",
    "statistics_to_arrays",
    "to_scale",
    "unscale_action",
    "update_statistics",
]
