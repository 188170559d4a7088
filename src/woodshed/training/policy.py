"""A trained policy: for use without environment, replay or optimiser, and as files."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
import msgspec
import numpy as np
from numpy.typing import NDArray

from woodshed.connectors import Encoder, Scale, make_encoder, scale_action
from woodshed.envs import Tree, bounded_box
from woodshed.errors import WoodshedError
from woodshed.files import (
    damaged,
    read_arrays,
    read_json,
    replaced_folder,
    write_arrays,
    write_json,
    writing_to,
)
from woodshed.training.compiled import compiled_act
from woodshed.training.named_arrays import from_named, to_named, under
from woodshed.training.settings_data import algorithm_from_data, algorithm_to_data

FORMAT = 2
DESCRIPTION_FILE = "policy.json"
ARRAYS_FILE = "policy.npz"


@dataclass(frozen=True, eq=False)
class Policy:
    """Maps observations to actions, without exploring."""

    algorithm: Any
    """Settings of the algorithm that made it."""
    encoder: Encoder
    """What the networks see of an observation."""
    actor: Any
    """The actor's weights."""
    scale: Scale | None
    """What observations are normalised by."""
    low: NDArray[Any]
    """`[…]` bounds of the environment's actions."""
    high: NDArray[Any]
    """`[…]`."""

    def __call__(self, observation: Tree) -> NDArray[Any]:
        """Act.

        Args:
            observation: tree of `[L, …]`, or one observation without the leading axis.

        Returns:
            `[L, …]` actions of the environment, or one.
        """
        if self.encoder.is_single(observation):
            batch = jax.tree.map(lambda leaf: np.asarray(leaf)[None], observation)
            one: NDArray[Any] = self(batch)[0]
            return one
        act = compiled_act(self.algorithm, self.encoder)
        action = act(self.actor, self.scale, observation, jax.random.key(0), explore=False)
        return scale_action(np.asarray(action).reshape(-1, *self.low.shape), self.low, self.high)

    def check_spaces(
        self, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        """Check that the policy can act in an environment of these spaces.

        Raises:
            WoodshedError: when it was trained for others.
        """
        parts = {part.name: part.size for part in self.encoder.parts}
        try:
            keys = None if list(parts) == [""] else list(parts)
            encoder = make_encoder(observation_space, keys, self.encoder.clip)
        except WoodshedError:
            encoder = None
        if encoder != self.encoder:
            seen = ", ".join(f"{name or 'one array'} of {size}" for name, size in parts.items())
            raise WoodshedError(
                f"the policy was trained on other observations: it sees {seen}, but the "
                f"environment gives {observation_space}"
            )
        shape = bounded_box(action_space).shape
        if shape != self.low.shape:
            raise WoodshedError(
                f"the policy was trained for actions of shape {self.low.shape}, but the "
                f"environment takes {shape}"
            )


def save_policy(folder: Path, policy: Policy) -> None:
    """Write a policy into a folder of its own, in place of one that is there.

    Raises:
        WoodshedError: the disk refuses.
    """
    arrays = {"low": policy.low, "high": policy.high, **to_named("actor", policy.actor)}
    if policy.scale is not None:
        arrays |= to_named("scale", policy.scale)
    description = {
        "format": FORMAT,
        "algorithm": algorithm_to_data(policy.algorithm),
        "encoder": asdict(policy.encoder),
        "normalised": policy.scale is not None,
    }
    with writing_to(folder, "write to"), replaced_folder(folder) as aside:
        write_json(aside / DESCRIPTION_FILE, description)
        write_arrays(aside / ARRAYS_FILE, arrays)


def load_policy(folder: Path) -> Policy:
    """Read a policy. Runs no code from the files.

    Raises:
        WoodshedError: when a file is missing or damaged; the message names it.
    """
    path = folder / DESCRIPTION_FILE
    description = read_json(path)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise WoodshedError(f"{path} is no policy of format {FORMAT}")
    try:
        encoder = msgspec.convert(description["encoder"], Encoder)
        algorithm = algorithm_from_data(description["algorithm"], str(path))
        normalised = bool(description["normalised"])
    except (KeyError, msgspec.ValidationError) as error:
        raise damaged(path, repr(error)) from None
    arrays = read_arrays(folder / ARRAYS_FILE)
    try:
        action_size = len(arrays["low"].ravel())
        template = algorithm.init(jax.random.key(0), encoder.size, action_size).actor
        return Policy(
            algorithm=algorithm,
            encoder=encoder,
            actor=from_named("actor", template, arrays),
            scale=_read_scale(arrays) if normalised else None,
            low=arrays["low"],
            high=arrays["high"],
        )
    except (KeyError, ValueError) as error:
        raise WoodshedError(f"{folder / ARRAYS_FILE} does not fit {path}: {error}") from None


def _read_scale(arrays: dict[str, NDArray[Any]]) -> Scale:
    def field(name: str) -> dict[str, NDArray[np.float32]]:
        leaves = under(f"scale.{name}['", arrays)
        return {leaf.removesuffix("']"): array for leaf, array in leaves.items()}

    return Scale(field("mean"), field("inverse_std"))
