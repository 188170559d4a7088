"""Which goals hindsight may draw, and how likely each is, by counting."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from tests.reference.replay import Array, Place, ReferenceReplay
from tests.reference.windows import achieved_goal

Source = str | Mapping[str, float]
"""One strategy by name, or the shares of several and of the original goal."""


class Goal(NamedTuple):
    """A goal that hindsight may draw, and how likely it is."""

    lane: int
    number: int
    """The row whose achieved goal it is."""
    value: Array
    probability: Fraction


def shares(source: Source, k: float = 0.0) -> dict[str, Fraction]:
    """How often each strategy is used, and `original`; as the decimals were written."""
    if isinstance(source, str):
        relabelled = Fraction(k) / (Fraction(k) + 1)
        return {"original": 1 - relabelled, source: relabelled}
    return {name: Fraction(str(share)) for name, share in source.items()}


def goals(
    replay: ReferenceReplay, place: Place, source: Source, discount: Fraction = Fraction(9, 10)
) -> list[Goal]:
    """Every goal that a *relabelled* window from this row may get, with its exact probability.

    A goal may come from several strategies: then it is listed once for each.
    """
    match source:
        case "future":
            return _uniform(_later(place, place.number))
        case "geometric":
            later = _later(place, place.number)
            powers = [discount**i for i in range(len(later))]
            return [
                _goal(*row, power / sum(powers)) for row, power in zip(later, powers, strict=True)
            ]
        case "final":
            return _uniform([(place, place.episode.last)])
        case "episode":
            return _uniform(_later(place, place.oldest))
        case "random":
            return _uniform((other, other.number + 1) for other in replay.places())
    assert isinstance(source, Mapping), source
    used = {name: share for name, share in shares(source).items() if share and name != "original"}
    return [
        goal._replace(probability=goal.probability * share / sum(used.values()))
        for name, share in used.items()
        for goal in goals(replay, place, name, discount)
    ]


def _later(place: Place, number: int) -> list[tuple[Place, int]]:
    return [(place, j) for j in range(number + 1, place.episode.last + 1)]


def _uniform(rows: Iterable[tuple[Place, int]]) -> list[Goal]:
    listed = list(rows)
    return [_goal(place, j, Fraction(1, len(listed))) for place, j in listed]


def _goal(place: Place, number: int, probability: Fraction) -> Goal:
    return Goal(place.lane, number, achieved_goal(place.row(number).observation), probability)
