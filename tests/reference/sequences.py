"""What a sampled sequence must be: which rows it shows and which of its steps count."""

from tests.reference.replay import Array, Place
from tests.reference.windows import GoalFunction, relabelled_termination


def sequence_mask(
    place: Place,
    length: int,
    burn_in: int,
    goal: Array | None = None,
    compute_terminated: GoalFunction | None = None,
) -> list[bool]:
    """Which of the burn_in + length steps around a picked row there are.

    Args:
        place: the picked row, at index `burn_in`.
        length: steps from the picked row on.
        burn_in: steps before it.
        goal: of a relabelled sequence; None for one that keeps its goal.
        compute_terminated: as for windows.
    """
    mask = []
    for i in range(burn_in + length):
        number = place.number - burn_in + i
        there = place.whole <= number < place.episode.last
        if there and goal is not None:
            there = not any(
                relabelled_termination(place, earlier, goal, compute_terminated)
                for earlier in range(place.number, number)
            )
        mask.append(there)
    return mask


def observed_rows(place: Place, length: int, burn_in: int, n_high: int) -> list[int]:
    """Number of the row at each of burn_in + length + n_high time indices.

    Where the episode has no such row, its nearest one with all its frames stands there.
    """
    first = place.number - burn_in
    return [
        min(max(number, place.whole), place.episode.last)
        for number in range(first, first + burn_in + length + n_high)
    ]
