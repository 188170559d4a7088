import sys

import pytest

from woodshed.training.reporter import BarReporter, LineReporter, make_reporter, summary

METRICS = {
    "train/return": -12.34,
    "train/success": 0.456,
    "steps_per_second": 1234.4,
    "updates_per_second": 99.6,
    "learn/critic_loss": 5.0,
}
SHOWN = "return -12.3  success 46%  steps/s 1,234  updates/s 100"


def test_summary_shows_what_there_is() -> None:
    assert summary(METRICS) == SHOWN
    assert summary({"train/return": 1.0}) == "return 1.0"
    assert summary({}) == ""


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = make_reporter(20_000)
    assert isinstance(reporter, LineReporter)
    reporter.advance(500)
    reporter.metrics(1_000, METRICS)
    reporter.say("a line [with] brackets")
    reporter.close()
    assert capsys.readouterr().out == f"    1,000 / 20,000 steps  {SHOWN}\na line [with] brackets\n"


def test_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    reporter = make_reporter(20_000)
    assert isinstance(reporter, BarReporter)
    reporter.advance(500)
    reporter.say("a line [with] brackets")
    reporter.metrics(20_000, METRICS)
    reporter.close()
    shown = capsys.readouterr().out
    assert "a line [with] brackets" in shown
    assert "20000/20000" in shown
    assert SHOWN in shown
