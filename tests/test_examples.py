"""The examples do what they say; each needs a package that Woodshed does without."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_the_torch_loop_solves_its_task() -> None:
    pytest.importorskip("torch")
    train = runpy.run_path(str(EXAMPLES / "torch_loop.py"))["train"]
    assert train(steps=3000, seed=0) >= 0.95
