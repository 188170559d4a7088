"""The sides of a comparison: their environments, and running a worker in one."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Measurement

ROOT = Path(__file__).resolve().parent.parent
MARK = "requirements.sha256"
INSTALL_SECONDS = 1800
WORKER_SECONDS = 900


class PeerError(Exception):
    """An environment could not be made, or a worker failed; the message is one line."""


class WorkerResult(NamedTuple):
    """What a worker printed."""

    versions: dict[str, str]
    measurements: list[Measurement]


@dataclass(frozen=True)
class Peer:
    """A library that takes part."""

    name: str
    prefix: str
    """Its workers are the modules benchmarks.PREFIX_WORKER, such as benchmarks.sb3_replay."""
    requirements: Path | None = None
    """What its own environment holds; None: it runs in this interpreter's."""
    environment: dict[str, str] = field(default_factory=dict)
    """Environment variables that its workers get besides this process's own."""

    @property
    def folder(self) -> Path:
        """The folder of its own virtual environment."""
        return ROOT / f".venv-bench-{self.prefix}"

    @property
    def python(self) -> Path:
        """The interpreter of its workers."""
        return Path(sys.executable) if self.requirements is None else self.folder / "bin/python"

    def prepare(self) -> None:
        """Make its virtual environment unless one with these requirements is there.

        Raises:
            PeerError: when the installation fails.
        """
        if self.requirements is None:
            return
        wanted = hashlib.sha256(self.requirements.read_bytes()).hexdigest()
        mark = self.folder / MARK
        if mark.exists() and mark.read_text() == wanted and self.python.exists():
            return
        print(f"making {self.folder.name} for {self.name} (once, some minutes)", flush=True)
        run([sys.executable, "-m", "venv", "--clear", str(self.folder)], INSTALL_SECONDS)
        install = [str(self.python), "-m", "pip", "install", "--quiet", "--requirement"]
        run([*install, str(self.requirements)], INSTALL_SECONDS)
        mark.write_text(wanted)

    def measure(self, worker: str, arguments: Sequence[str]) -> WorkerResult:
        """Run one of its workers in a fresh process.

        Raises:
            PeerError: when the worker fails or prints no result.
        """
        command = [str(self.python), "-m", f"benchmarks.{self.prefix}_{worker}", *arguments]
        output = run(command, WORKER_SECONDS, self.environment).strip()
        try:
            result = json.loads(output.splitlines()[-1])
            return WorkerResult(
                dict(result["versions"]), [Measurement(*each) for each in result["measurements"]]
            )
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise PeerError(f"the worker printed no result but {output[-200:]!r}") from error


def run(command: Sequence[str], seconds: float, environment: dict[str, str] | None = None) -> str:
    """Run a command in the repository's root; its standard output.

    Raises:
        PeerError: when it exits with another code than 0 or runs too long; holds its last line.
    """
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | (environment or {}),
            timeout=seconds,
            capture_output=True,
            text=True,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"still running after {seconds:.0f} s") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise PeerError(f"exit code {error.returncode}: {''.join(last)}") from error
    except OSError as error:
        raise PeerError(str(error)) from error
    return done.stdout


WOODSHED = Peer("Woodshed", "woodshed", environment={"JAX_PLATFORMS": "cpu"})
SB3 = Peer("Stable-Baselines3", "sb3", ROOT / "benchmarks/requirements-sb3.txt")
CPPRB = Peer("cpprb", "cpprb", ROOT / "benchmarks/requirements-cpprb.txt")
TIANSHOU = Peer("Tianshou", "tianshou", ROOT / "benchmarks/requirements-tianshou.txt")
TORCHRL = Peer("TorchRL", "torchrl", ROOT / "benchmarks/requirements-torchrl.txt")
RLLIB = Peer("RLlib", "rllib", ROOT / "benchmarks/requirements-rllib.txt")
