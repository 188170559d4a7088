"""Imports run one way, and the replay stands alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "woodshed"

# What each package may import of Woodshed, itself and `errors` and `files` left out.
MAY_IMPORT: dict[str, set[str]] = {
    "replay": set(),
    "envs": set(),
    "networks": set(),
    "connectors": set(),
    "algorithms": {"networks"},
    "learner": {"algorithms", "connectors", "replay"},
    "runners": {"envs", "replay", "connectors"},
    "training": {"replay", "envs", "algorithms", "learner", "runners", "connectors"},
    "presets": {"training", "algorithms"},
    "cli": {"training", "presets", "algorithms", "envs"},
}


def _imported(package: str) -> set[str]:
    modules = set()
    for file in (SOURCE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file} imports relatively"
                modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    names = {name.split(".")[1] for name in modules if name.startswith("woodshed.")}
    return names - {package, "errors", "files", "__version__"}


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports_run_one_way(package: str) -> None:
    assert _imported(package) <= MAY_IMPORT[package]


def test_every_package_is_in_the_list() -> None:
    packages = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert packages == set(MAY_IMPORT)


def test_replay_needs_neither_jax_nor_robotics() -> None:
    code = (
        "import sys, woodshed.replay; "
        "print([m for m in ('jax', 'equinox', 'gymnasium_robotics', 'mujoco', 'torch') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
