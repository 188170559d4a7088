"""The Python in the guides runs."""

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[1] / "docs" / "guides"


@pytest.mark.parametrize("guide", ["replay.md", "environments.md"])
def test_examples_run(guide: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (GUIDES / guide).read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, guide, "exec"), {})
