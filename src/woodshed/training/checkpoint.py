"""A checkpoint: all that a run needs to go on as if it had never stopped. JSON and arrays only.

| file | what |
|---|---|
| `checkpoint.json` | counts, episodes under way, generators; checksums of the files beside it |
| `arrays.npz` | the algorithm's state, observations, statistics, losses since the last report |
| `policy/` | the best policy so far, where there was an evaluation |
| `replay/` | what `ReplayBuffer.save` writes |
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from woodshed.errors import WoodshedError
from woodshed.files import (
    check_file,
    checksum,
    damaged,
    read_arrays,
    read_sealed,
    write_arrays,
    write_sealed,
)
from woodshed.replay import ReplayBuffer
from woodshed.runners import Episode
from woodshed.training.policy import Policy, load_policy, save_policy
from woodshed.training.progress import Progress

FORMAT, VERSION = "woodshed checkpoint", 1
ABOUT_FILE, ARRAYS_FILE = "checkpoint.json", "arrays.npz"
POLICY, REPLAY = "policy", "replay"

SavedEpisode = tuple[float, int, float | None]
"""Return, length, success or None, as JSON has them."""


@dataclass(frozen=True)
class Lanes:
    """The environments at a checkpoint."""

    episodes: list[int]
    """`[L]` number of the episode that each is in."""
    return_sum: list[float]
    """`[L]` rewards of that episode so far."""
    length: list[int]
    """`[L]` steps of that episode so far."""


@dataclass(frozen=True)
class Ratio:
    """How updates were counted: settings of the run, which a resumed one may change."""

    updates_per_step: float
    learning_starts: int


@dataclass(frozen=True)
class About:
    """What `checkpoint.json` holds."""

    progress: Progress
    lanes: Lanes
    recent: list[SavedEpisode]
    """Training episodes that the next report is about."""
    best: list[SavedEpisode] | None
    """Episodes of the best evaluation so far."""
    action_generator: dict[str, Any]
    """State of the bit generator of the random actions."""
    ratio: Ratio
    metrics_bytes: int
    """Length of `metrics.jsonl` so far."""
    checksums: dict[str, int]
    """CRC-32 of the other files, by their path."""
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read, and found whole; the replay is left on the disk."""

    folder: Path
    about: About
    arrays: dict[str, NDArray[Any]]
    """By name; see `woodshed.training.named_arrays`."""
    policy: Policy | None
    """The best one so far."""

    @property
    def replay(self) -> Path:
        """Folder for `ReplayBuffer.load`."""
        return self.folder / REPLAY


def fill_checkpoint(
    folder: Path,
    about: About,
    arrays: Mapping[str, NDArray[Any]],
    policy: Policy | None,
    buffer: ReplayBuffer,
    previous: Path | None,
) -> None:
    """Write a checkpoint's files into a new folder.

    Args:
        folder: exists and is empty.
        about: its checksums are added here.
        arrays: by name.
        policy: the best one so far.
        buffer: saved with them.
        previous: an earlier checkpoint of the run, whose replay files are linked where they have
            not changed.
    """
    write_arrays(folder / ARRAYS_FILE, arrays)
    if policy is not None:
        save_policy(folder / POLICY, policy)
    buffer.save(folder / REPLAY, earlier=None if previous is None else previous / REPLAY)
    # The replay's own JSON holds the checksums of its arrays.
    files = [path for path in folder.rglob("*") if path.is_file()]
    listed = [path for path in files if path.parent.name != REPLAY or path.suffix == ".json"]
    checksums = {str(path.relative_to(folder)): checksum(path) for path in listed}
    write_sealed(folder / ABOUT_FILE, asdict(about) | {"checksums": checksums})


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint, all but its replay. Runs no code from the files.

    Raises:
        WoodshedError: when a file is missing, damaged or foreign; the message names it.
    """
    path = folder / ABOUT_FILE
    if not folder.is_dir():
        raise WoodshedError(f"there is no checkpoint {folder}")
    data = read_sealed(path)
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise WoodshedError(f"{path} is no checkpoint of version {VERSION}")
    try:
        about = msgspec.convert(data, About)
    except msgspec.ValidationError as error:
        raise damaged(path, str(error)) from None
    for name, expected in about.checksums.items():
        check_file(folder / name, expected)
    return Checkpoint(
        folder=folder,
        about=about,
        arrays=read_arrays(folder / ARRAYS_FILE),
        policy=None if about.best is None else load_policy(folder / POLICY),
    )


def to_saved(episodes: Sequence[Episode]) -> list[SavedEpisode]:
    """Episodes as JSON has them, which knows no nan."""
    return [
        (e.return_sum, e.length, None if math.isnan(e.success) else e.success) for e in episodes
    ]


def from_saved(episodes: Sequence[SavedEpisode]) -> list[Episode]:
    """The inverse of `to_saved`."""
    return [
        Episode(total, length, math.nan if success is None else success)
        for total, length, success in episodes
    ]
