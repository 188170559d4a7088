"""Fixtures of the tests of saving."""

import os

import pytest

from woodshed.replay import segments

SEGMENT_ROWS = 4


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of four rows, and no waiting for the disk."""
    monkeypatch.setattr(segments, "segment_rows", lambda *size: SEGMENT_ROWS)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
