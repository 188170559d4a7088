"""The table of ratios."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.collection import Collection, Key


class Side(NamedTuple):
    """One number of a ratio: whose, and which."""

    peer: str
    key: Key


class Target(NamedTuple):
    """What a ratio is to be."""

    at_least: float | None = None
    at_most: float | None = None

    def text(self) -> str:
        """As shown in the table."""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"

    def met(self, ratio: float) -> bool:
        """Whether this ratio will do."""
        return (self.at_least is None or ratio >= self.at_least) and (
            self.at_most is None or ratio <= self.at_most
        )


class Unit(NamedTuple):
    """How to show a number."""

    scale: float
    text: str


MICROSECONDS = Unit(1e6, "µs")
MILLISECONDS = Unit(1e3, "ms")
BYTES = Unit(1.0, "B")
STEPS_PER_SECOND = Unit(1.0, "steps/s")


class Row(NamedTuple):
    """One line of the table."""

    ours: Side
    other: Side
    beside: str
    """Whose or which number stands beside ours."""
    unit: Unit
    meaning: str
    """What the ratio says."""
    ours_over_other: bool
    """Whether the ratio is ours / other, or other / ours."""
    target: Target | None = None


class Ratio(NamedTuple):
    """A row's ratio of medians, and the lowest and highest ratio of one round."""

    value: float
    low: float
    high: float


def ratio_of(row: Row, collection: Collection) -> Ratio | None:
    """The row's ratio; None where a side failed in every round."""
    over, under = (row.ours, row.other) if row.ours_over_other else (row.other, row.ours)
    medians = [collection.median(*side) for side in (over, under)]
    if medians[0] is None or medians[1] is None:
        return None
    value = medians[0] / medians[1]
    over_rounds, under_rounds = (collection.of_rounds(*side) for side in (over, under))
    ratios = [over_rounds[i] / under_rounds[i] for i in over_rounds.keys() & under_rounds.keys()]
    return Ratio(value, min(ratios, default=value), max(ratios, default=value))


def markdown_table(rows: Sequence[Row], collection: Collection) -> str:
    """All rows as one Markdown table."""
    head = ["measured", "environments", "transitions", "Woodshed", "beside it", "the other"]
    head += ["ratio", "lowest to highest", "the ratio is", "target", "verdict"]
    lines = [head, ["---"] * len(head), *(_cells(row, collection) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _cells(row: Row, collection: Collection) -> list[str]:
    def shown(side: Side) -> str:
        value = collection.median(*side)
        return "failed" if value is None else f"{value * row.unit.scale:,.4g} {row.unit.text}"

    ratio = ratio_of(row, collection)
    return [
        row.ours.key.what,
        str(row.ours.key.n_envs),
        f"{row.ours.key.transitions:,}" if row.ours.key.transitions else "",
        shown(row.ours),
        row.beside,
        shown(row.other),
        "failed" if ratio is None else f"**{ratio.value:.3g}**",
        "" if ratio is None else f"{ratio.low:.3g} to {ratio.high:.3g}",
        row.meaning,
        row.target.text() if row.target else "",
        _verdict(row.target, ratio),
    ]


def _verdict(target: Target | None, ratio: Ratio | None) -> str:
    if target is None:
        return ""
    if ratio is None:
        return "failed"
    return "met" if target.met(ratio.value) else "MISSED"
