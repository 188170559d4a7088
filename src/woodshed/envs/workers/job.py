"""What a worker is to do, in a form that another process can read."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cloudpickle
import gymnasium

from woodshed.envs.make import EnvironmentFactory, make_environment, registered_name, spec_of
from woodshed.errors import WoodshedError


@dataclass(frozen=True)
class Job:
    """The part of the lanes that one worker steps."""

    worker: int
    workers: int
    n_lanes: int
    """Lanes of all workers."""
    first_lane: int
    envs: tuple[EnvironmentFactory, ...]
    """One for each of this worker's lanes."""
    run_seed: int
    first_episodes: tuple[int, ...]
    info_keys: tuple[str, ...]


@dataclass(frozen=True)
class FromId:
    """Makes an environment from an id, also one that was registered in the parent process alone."""

    env: str
    name: str
    """What Gymnasium calls it: the id without `module:`."""
    spec: bytes
    """The parent's EnvSpec, pickled: it is read only where it is needed."""

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Make the environment."""
        try:
            registered_name(self.env)
        except WoodshedError:  # not known here after the usual imports
            spec = cloudpickle.loads(self.spec)
            gymnasium.registry[spec.id] = spec
            return make_environment(self.name)
        return make_environment(self.env)


def jobs(
    envs: Sequence[str | EnvironmentFactory],
    run_seed: int,
    info_keys: Sequence[str],
    first_episodes: Sequence[int],
    workers: int,
) -> list[Job]:
    """Share the lanes out to workers: contiguous, as evenly as can be, the larger parts first.

    Raises:
        WoodshedError: an id is unknown, or cannot be sent to another process.
    """
    n = len(envs)
    of_ids = {env: _from_id(env) for env in envs if isinstance(env, str)}
    made = tuple(of_ids[env] if isinstance(env, str) else env for env in envs)
    bounds = [worker * (n // workers) + min(worker, n % workers) for worker in range(workers + 1)]
    return [
        Job(
            worker=worker,
            workers=workers,
            n_lanes=n,
            first_lane=begin,
            envs=made[begin:end],
            run_seed=run_seed,
            first_episodes=tuple(first_episodes[begin:end]),
            info_keys=tuple(info_keys),
        )
        for worker, (begin, end) in enumerate(pairwise(bounds))
    ]


def pickled(job: Job) -> bytes:
    """The job as bytes.

    Raises:
        WoodshedError: it cannot be pickled.
    """
    return _pickled("the environments", job)


def _from_id(env: str) -> FromId:
    name = registered_name(env)
    return FromId(env, name, _pickled(f"environment {env!r}", spec_of(name)))


def _pickled(what: str, value: Any) -> bytes:
    try:
        dumped: bytes = cloudpickle.dumps(value)
    except Exception as error:  # any, from the __reduce__ of whatever the functions refer to
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise WoodshedError(
            f"{what} cannot be sent to a worker process: {reason:.300}; make what cannot be "
            "pickled inside the function that makes the environment"
        ) from error
    return dumped
