"""Compiling while the first steps are taken."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil, floor
from typing import Any

import jax

from woodshed.training.compiled import compiled_act, compiled_update, in_updates
from woodshed.training.parts import Parts
from woodshed.training.settings import Settings
from woodshed.training.updates import exact_ratio


def compile_ahead(settings: Settings[Any], parts: Parts, scale: Any) -> Future[None]:
    """Compile acting and learning in a thread, by calling them on zeros.

    Compiling takes seconds, most of them outside Python; meanwhile the random steps are taken. The
    results are thrown away, so a run is the same with or without.

    Returns:
        Done when the functions are compiled; it raises what compiling raised.
    """
    act = compiled_act(settings.algorithm, parts.encoder)
    update = compiled_update(settings.algorithm, parts.encoder)
    observation = parts.runner.observation
    state = jax.tree.map(lambda leaf: leaf.copy(), parts.state)  # the update takes its state over

    def compile_all() -> None:
        nonlocal state
        act(state.actor, scale, observation, parts.key, 0, explore=True).block_until_ready()
        for count in _updates_at_once(settings):
            batch = in_updates(parts.buffer.blank(count * settings.batch_size), count)
            state, _, _ = update(state, scale, batch)
        jax.block_until_ready(state)

    pool = ThreadPoolExecutor(1, thread_name_prefix="compile")
    future = pool.submit(compile_all)
    pool.shutdown(wait=False)
    return future


def _updates_at_once(settings: Settings[Any]) -> Iterable[int]:
    """How many updates a vector step can owe: the numbers that compiled shapes are for."""
    owed = exact_ratio(settings.updates_per_step) * settings.n_envs
    return sorted({floor(owed), ceil(owed)} - {0})
