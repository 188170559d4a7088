"""Making one environment, from a Gymnasium id or from a function."""

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from difflib import SequenceMatcher
from heapq import nlargest
from importlib.util import find_spec
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled

from woodshed.envs.families import Family, family_of
from woodshed.errors import WoodshedError

EnvironmentFactory = Callable[[], gymnasium.Env[Any, Any]]

ROBOTICS = "gymnasium_robotics"


def make_environment(env: str | EnvironmentFactory) -> gymnasium.Env[Any, Any]:
    """Make one environment.

    Args:
        env: a function without arguments, or a Gymnasium id. `module:Id-v0` imports `module` first.
            An id that is not known yet loads the package of its family (Gymnasium-Robotics,
            panda-gym, highway-env, ale-py) where that is installed.

    Returns:
        The environment; one from an id without Gymnasium's passive checker, which costs time.

    Raises:
        WoodshedError: the id is unknown, a package is missing, or `env` makes no environment.
            What the environment's own code raises comes through as it is.
    """
    if isinstance(env, str):
        return _make_from_id(env)
    if not callable(env):
        raise WoodshedError(
            f"expected a Gymnasium id or a function that makes the environment, got {env!r:.80}"
        )
    made = env()
    if not isinstance(made, gymnasium.Env):
        raise WoodshedError(
            f"the environment function must return a gymnasium.Env, got {type(made).__name__}"
        )
    return made


def registered_name(env: str) -> str:
    """What Gymnasium calls the environment, after importing what registers it.

    Args:
        env: a Gymnasium id, or `module:Id-v0`

    Raises:
        WoodshedError: the id is unknown, or a package is missing.
    """
    module, colon, name = env.partition(":")
    if colon:
        _import_named(module, env)
    else:
        name = env
    if not _registered(name):
        _import_family(name, family_of(name))
    if not _registered(name):
        raise _unknown(env, name)
    return name


def spec_of(name: str) -> EnvSpec:
    """How Gymnasium makes a registered environment; of an id without a version the newest one."""
    if name in gymnasium.registry:
        return gymnasium.registry[name]
    return gymnasium.registry[f"{name}-v{max(_versions(name))}"]


def _make_from_id(env: str) -> gymnasium.Env[Any, Any]:
    name = registered_name(env)
    family = family_of(name)
    try:
        return gymnasium.make(name, disable_env_checker=True)
    except DependencyNotInstalled as error:
        raise _not_installed(name, family, error) from error
    except ImportError as error:
        # Of an environment that we know nothing of it may be a fault in its own code.
        if family is None:
            raise
        raise _not_installed(name, family, error) from error


def _import_named(module: str, env: str) -> None:
    if not module or module.startswith("."):
        raise WoodshedError(f"environment {env!r} names no module before the colon")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, something that it imports is not
        raise WoodshedError(
            f"environment {env!r}: there is no module {module!r} on Python's path; install it, or "
            "put its folder into PYTHONPATH"
        ) from error


def _import_family(name: str, family: Family | None) -> None:
    """Import what registers the id; Gymnasium-Robotics in any case, for its ids as suggestions."""
    if family is not None and family.module is not None:
        if find_spec(family.module) is None:
            raise WoodshedError(
                f"environment {name!r} needs the package {family.module}, which is not installed: "
                f"{family.install}"
            )
        try:
            _import_quietly(family.module, name)
        except (ImportError, DependencyNotInstalled) as error:
            raise _not_installed(name, family, error) from error
    elif find_spec(ROBOTICS) is not None:
        try:
            _import_quietly(ROBOTICS, name)
        except Exception:  # a broken install must not hide that the id is unknown
            return


def _import_quietly(module: str, name: str) -> None:
    # The line that Gymnasium-Robotics prints is about Adroit's rewards: only who asks for Adroit
    # needs to read it.
    quiet = nullcontext() if name.startswith("Adroit") else _without_notice(module)
    with quiet:
        importlib.import_module(module)


@contextmanager
def _without_notice(package: str) -> Iterator[None]:
    """Keeps a package of Farama from printing its notice to stderr while it is imported.

    The packages print what `farama_notifications` holds for them, so it is taken out for a moment.
    """
    notices: dict[str, Any] = {}
    if find_spec("farama_notifications") is not None:
        notices = importlib.import_module("farama_notifications").notifications
    notice = notices.pop(package, None)
    try:
        yield
    finally:
        if notice is not None:
            notices[package] = notice


def _registered(name: str) -> bool:
    """Whether Gymnasium knows the id, or some version of an id without one."""
    return name in gymnasium.registry or len(_versions(name)) > 0


def _versions(base: str) -> list[int]:
    """Versions that are registered of an id without its version."""
    pattern = re.compile(re.escape(base) + r"-v(\d+)")
    return [int(found[1]) for known in gymnasium.registry if (found := pattern.fullmatch(known))]


def _unknown(env: str, name: str) -> WoodshedError:
    def likeness(known: str) -> tuple[float, str]:
        # Of equally alike ids, which differ in the version only, the newest comes first.
        return SequenceMatcher(None, name.lower(), known.lower()).ratio(), known

    alike = [
        known for known in nlargest(3, gymnasium.registry, likeness) if likeness(known)[0] > 0.6
    ]
    advice = (
        f"did you mean {', '.join(map(repr, alike))}?" if alike else "no registered id is like it"
    )
    return WoodshedError(
        f"unknown environment {env!r}; {advice} (for an environment of your own: "
        "'your_module:YourEnv-v0', or a function that makes it)"
    )


def _not_installed(name: str, family: Family | None, error: Exception) -> WoodshedError:
    newest = _newest(name)
    if newest is not None:
        # Old versions need packages that are no more to be had.
        advice = f"use {newest!r}"
    else:
        advice = family.install if family is not None else "install what it names"
    reason = " ".join(str(error).split())
    return WoodshedError(f"environment {name!r} cannot be made: {reason}; {advice}")


def _newest(name: str) -> str | None:
    """The id of the newest version of the environment, None where `name` is that."""
    base, _, version = name.rpartition("-v")
    versions = _versions(base)
    if not versions or not version.isdigit() or int(version) >= max(versions):
        return None
    return f"{base}-v{max(versions)}"
