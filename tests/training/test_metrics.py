import json
from pathlib import Path

from woodshed.training.metrics import MetricsWriter


def test_a_line_for_each_report_is_there_at_once(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path)
    writer.write({"a": 1.5, "b": float("nan"), "c": float("-inf")}, 10)
    writer.write({"a": 2, "train/return": -3.0}, 20)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()  # before it is closed
    writer.close()
    assert [json.loads(line) for line in lines] == [
        {"env_steps": 10, "a": 1.5, "b": None, "c": None},
        {"env_steps": 20, "a": 2, "train/return": -3.0},
    ]
    events = list((tmp_path / "tensorboard").iterdir())
    assert len(events) == 1
    assert b"train/return" in events[0].read_bytes()


def test_lines_are_added_to_those_before(tmp_path: Path) -> None:
    for step in (1, 2):
        writer = MetricsWriter(tmp_path)
        writer.write({}, step)
        writer.close()
    assert (tmp_path / "metrics.jsonl").read_text() == '{"env_steps": 1}\n{"env_steps": 2}\n'
