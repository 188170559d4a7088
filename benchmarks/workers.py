"""The comparison of worker processes: with stepping in one process, and with Gymnasium's."""

from benchmarks.collection import Job, Key
from benchmarks.peers import WOODSHED
from benchmarks.table import MILLISECONDS, Row, Side, Target
from benchmarks.woodshed_workers import FETCH, N_ENVS, NOTHING, SLOW, Stepping

SPEED_UP, TRANSPORT = Target(at_least=1.7), Target(at_most=1)
OURS, IN_PROCESS, GYMNASIUM = Stepping.TWO_WORKERS, Stepping.IN_PROCESS, Stepping.GYMNASIUM


def jobs() -> list[Job]:
    """One round: each kind of environment, stepped in each way that is compared."""
    compared = (
        (SLOW, (OURS, IN_PROCESS)),
        (NOTHING, (OURS, GYMNASIUM)),
        (FETCH, (OURS, GYMNASIUM)),
    )
    return [
        Job(WOODSHED, "workers", ("--environment", environment, "--stepping", stepping))
        for environment, ways in compared
        for stepping in ways
    ]


def rows() -> list[Row]:
    """The table's part on worker processes."""

    def row(
        environment: str, other: Stepping, meaning: str, ours_over_other: bool, target: Target
    ) -> Row:
        sides = [
            Side(WOODSHED.name, Key(f"{environment}, {way}", 0, N_ENVS)) for way in (OURS, other)
        ]
        return Row(sides[0], sides[1], other, MILLISECONDS, meaning, ours_over_other, target)

    return [
        row(SLOW, IN_PROCESS, "their time for a vector step / ours", False, SPEED_UP),
        row(NOTHING, GYMNASIUM, "our time for a vector step / theirs", True, TRANSPORT),
        row(FETCH, GYMNASIUM, "our time for a vector step / theirs", True, TRANSPORT),
    ]
