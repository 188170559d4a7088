"""Pick: which rows a batch starts from."""

from woodshed.replay.kernel import kernel
from woodshed.replay.machine import prefetch_marks
from woodshed.replay.store import NEWEST, NEWEST_PLACE, has_transition, oldest_row, wrap
from woodshed.replay.stream import below


@kernel
def count_rows(episodes, before):  # type: ignore[no-untyped-def]
    """Fill `before` `[L+1]`: how many rows are stored in the lanes before each, then in all."""
    before[0] = 0
    for lane in range(before.size - 1):
        stored = episodes.lanes[lane, NEWEST] + 1 - oldest_row(episodes, lane)
        before[lane + 1] = before[lane] + stored


@kernel
def _any_row(episodes, before, stream):  # type: ignore[no-untyped-def]
    """Any stored row, all alike: lane, row number and place."""
    u = below(stream, before[-1])
    # The lane that holds the u-th stored row: lanes are about equally full, so guess and mend.
    lane = u * (before.size - 1) // before[-1]
    while before[lane] > u:
        lane -= 1
    while before[lane + 1] <= u:
        lane += 1
    back = before[lane + 1] - 1 - u
    place = wrap(episodes.lanes[lane, NEWEST_PLACE] - back, episodes.marks.shape[1])
    return lane, episodes.lanes[lane, NEWEST] - back, place


@kernel
def pick_one(episodes, before, stream):  # type: ignore[no-untyped-def]
    """One transition, uniform over all that can be sampled: lane, row number and place.

    Draws stored rows until one can be. Of an episode's rows at least half can, so two draws are
    enough on average, and each transition has exactly the same probability.
    """
    while True:
        lane, row, place = _any_row(episodes, before, stream)
        if has_transition(episodes, lane, place):
            return lane, row, place


@kernel
def pick_uniform(episodes, before, stream, windows):  # type: ignore[no-untyped-def]
    """Fill `lane`, `row` and `place` of the windows with transitions, drawn as by `pick_one`.

    At least one transition must be there; `before` is from `count_rows`. All rows are drawn before
    the first is looked at, so that the processor can fetch them meanwhile.
    """
    for b in range(windows.row.size):
        windows.lane[b], windows.row[b], windows.place[b] = _any_row(episodes, before, stream)
        prefetch_marks(episodes, windows.lane[b], windows.place[b])
    for b in range(windows.row.size):
        if not has_transition(episodes, windows.lane[b], windows.place[b]):
            windows.lane[b], windows.row[b], windows.place[b] = pick_one(episodes, before, stream)
