"""Pick: which rows a batch starts from."""

from woodshed.replay.kernel import kernel
from woodshed.replay.prefetch import prefetch_row
from woodshed.replay.store import oldest_row
from woodshed.replay.stream import below


@kernel
def count_rows(episodes, before):  # type: ignore[no-untyped-def]
    """Fill `before` `[L+1]`: how many rows are stored in the lanes before each, then in all."""
    before[0] = 0
    for lane in range(episodes.newest.size):
        stored = episodes.newest[lane] + 1 - oldest_row(episodes, lane)
        before[lane + 1] = before[lane] + stored


@kernel
def _any_row(episodes, before, stream):  # type: ignore[no-untyped-def]
    """Any stored row, all alike: lane and row number."""
    u = below(stream, before[-1])
    # The lane that holds the u-th stored row: lanes are about equally full, so guess and mend.
    lane = u * (before.size - 1) // before[-1]
    while before[lane] > u:
        lane -= 1
    while before[lane + 1] <= u:
        lane += 1
    return lane, oldest_row(episodes, lane) + u - before[lane]


@kernel
def pick_one(episodes, before, stream):  # type: ignore[no-untyped-def]
    """One transition, uniform over all that are stored: lane and row number.

    Draws stored rows until one holds a transition. Of an episode's rows at least half do, so two
    draws are enough on average, and each transition has exactly the same probability.
    """
    while True:
        lane, row = _any_row(episodes, before, stream)
        if episodes.left[lane, row % episodes.left.shape[1]] != 0:
            return lane, row


@kernel
def pick_uniform(episodes, before, stream, windows):  # type: ignore[no-untyped-def]
    """Fill `lane` and `row` of the windows with transitions, drawn as by `pick_one`.

    At least one transition must be stored; `before` is from `count_rows`. All rows are drawn before
    the first is looked at, so that the processor can fetch them meanwhile.
    """
    rows = episodes.left.shape[1]
    for b in range(windows.row.size):
        windows.lane[b], windows.row[b] = _any_row(episodes, before, stream)
        prefetch_row(episodes, windows.lane[b], windows.row[b])
    for b in range(windows.row.size):
        if episodes.left[windows.lane[b], windows.row[b] % rows] == 0:
            windows.lane[b], windows.row[b] = pick_one(episodes, before, stream)
