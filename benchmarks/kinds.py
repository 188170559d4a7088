"""The kinds of sampling: which worker measures what, what a library cannot do, the table."""

from collections.abc import Sequence

from benchmarks import kinds_worker as kinds
from benchmarks.collection import Collection, Job, Key
from benchmarks.peers import CPPRB, RLLIB, SB3, TIANSHOU, TORCHRL, WOODSHED, Peer
from benchmarks.table import MICROSECONDS, Row, Side, Target, ratio_of

OTHERS = (SB3, CPPRB, TIANSHOU, TORCHRL, RLLIB)
PEERS = (WOODSHED, *OTHERS)
TIMED = (
    kinds.SMALL,
    kinds.PLAIN,
    kinds.N_STEP,
    kinds.HINDSIGHT,
    kinds.PRIORITISED,
    kinds.SEQUENCES,
    kinds.EVERYTHING,
)
ROWS = (*TIMED, kinds.UPDATE)

NO_PRIORITIES = "its replay buffers have no priorities"
CANNOT = {
    SB3.name: {
        kinds.PRIORITISED: NO_PRIORITIES,
        kinds.UPDATE: NO_PRIORITIES,
        kinds.SEQUENCES: "its replay buffers give single transitions",
        kinds.EVERYTHING: NO_PRIORITIES + ", and HerReplayBuffer has no n-step returns",
    },
    CPPRB.name: {
        kinds.SEQUENCES: "its buffers give single rows",
        kinds.EVERYTHING: "HindsightReplayBuffer adds an episode's relabelled copies one after the "
        "other, and n-step windows run on into the next copy",
    },
    TIANSHOU.name: {
        kinds.EVERYTHING: "HERReplayBuffer and PrioritizedReplayBuffer: it is one or the other",
    },
    TORCHRL.name: {
        kinds.EVERYTHING: "MultiStepTransform sums rewards when they are added, HERReplayBuffer "
        "puts a reward of one step in their place",
    },
    RLLIB.name: {
        kinds.HINDSIGHT: "none of its buffers relabels goals",
        kinds.EVERYTHING: "none of its buffers relabels goals",
    },
}
"""Of each side, the kinds that it has no worker for, and why."""

REMARKS = {
    SB3.name: {kinds.N_STEP: "NStepReplayBuffer takes flat observations: one vector of 31 numbers"},
    CPPRB.name: {
        kinds.HINDSIGHT: "relabels when rows are added: of its rows one in five is a "
        "transition, the others are relabelled copies that never change",
        kinds.N_STEP: "sums rewards when rows are added",
    },
    TIANSHOU.name: {
        kinds.HINDSIGHT: "relabels whole episodes in the store, all its draws of an episode alike",
        kinds.SEQUENCES: "stack_num=20: the observations of 20 steps, but action and reward of the "
        "last one only; before an episode's start the first one is repeated",
    },
    TORCHRL.name: {
        kinds.N_STEP: "sums rewards when rows are added",
        kinds.HINDSIGHT: "where the episodes end is kept from one sample to the next here; after "
        "each write it is looked up anew, which takes several milliseconds",
        kinds.SEQUENCES: "SliceSampler, which keeps the ends likewise; whole slices only",
    },
    RLLIB.name: {
        kinds.PLAIN: "pieces of two steps as DreamerV3 samples them, four times as fast as SAC's",
        kinds.SEQUENCES: "20 steps that run on into another episode where one ends, with a mark",
    },
}
"""What to know beside a number."""

GROWTH_TARGET, EVERYTHING_TARGET = Target(at_most=2), Target(at_most=3)
UPDATE_TARGET = 40e-6
"""Seconds that an update may take."""


def size_of(transitions: Sequence[int]) -> int:
    """Of the sizes asked for, the one that the kinds are measured at."""
    return transitions[-1]


def jobs(transitions: Sequence[int], calls: int) -> list[Job]:
    """One round: the sides in turn for each kind, and Woodshed's small and huge buffer."""

    def job(peer: Peer, kind: str, size: int) -> Job:
        given = ("--kind", kind, "--transitions", str(size), "--calls", str(calls))
        return Job(peer, "kinds", given)

    size = size_of(transitions)
    compared = [
        job(peer, kind, size)
        for kind in TIMED
        for peer in PEERS
        if kind not in CANNOT.get(peer.name, {})
    ]
    return compared + [job(WOODSHED, kinds.HINDSIGHT, each) for each in (size // 10, size * 10)]


def key(kind: str, size: int) -> Key:
    """The measurement's name."""
    return Key(kind, size, kinds.N_ENVS)


def rows(transitions: Sequence[int]) -> list[Row]:
    """Woodshed beside itself, for the common table."""
    size = size_of(transitions)

    def row(ours: Key, other: Key, beside: str, meaning: str, target: Target) -> Row:
        sides = Side(WOODSHED.name, ours), Side(WOODSHED.name, other)
        return Row(*sides, beside, MICROSECONDS, meaning, True, target)

    return [
        row(
            key(kinds.HINDSIGHT, size * 10),
            key(kinds.HINDSIGHT, size // 10),
            f"Woodshed at {size // 10:,}",
            "our time / ours in the small buffer",
            GROWTH_TARGET,
        ),
        row(
            key(kinds.EVERYTHING, size),
            key(kinds.PLAIN, size),
            "Woodshed, rows",
            "our time / ours for uniform rows",
            EVERYTHING_TARGET,
        ),
    ]


def found_key(collection: Collection, peer: Peer, kind: str, size: int) -> Key:
    """The measurement of this size, or of the size that the side's buffer could be filled to."""
    sizes = [at for what, at, _ in collection.values.get(peer.name, {}) if what == kind]
    return key(kind, max((at for at in sizes if at <= size), default=size))


def table(collection: Collection, transitions: Sequence[int]) -> str:
    """The section of the page: one line for each kind, one column for each library."""
    size = size_of(transitions)
    head = [f"µs, {size:,} transitions", *(peer.name for peer in PEERS)]
    head += ["best of theirs / ours", "lowest to highest", "target", "verdict"]
    lines = [head, ["---"] * len(head), *(_cells(collection, kind, size) for kind in ROWS)]
    return "\n".join(
        ["## Kinds of sampling", ""]
        + ["| " + " | ".join(cells) + " |" for cells in lines]
        + ["", _update_line(collection, size), ""]
        + [f"- {each}" for each in _remarks()]
        + [""]
    )


def _cells(collection: Collection, kind: str, size: int) -> list[str]:
    keys = {peer.name: found_key(collection, peer, kind, size) for peer in PEERS}
    medians = {name: collection.median(name, at) for name, at in keys.items()}

    def shown(name: str) -> str:
        if kind in CANNOT.get(name, {}):
            return "cannot"
        if (value := medians[name]) is None:
            return "failed"
        at = "" if keys[name].transitions >= size * 0.9 else f" at {keys[name].transitions:,}"
        star = "\\*" if kind in REMARKS.get(name, {}) else ""
        return f"{value * MICROSECONDS.scale:,.4g}{star}{at}"

    cells = [shown(peer.name) for peer in PEERS]
    theirs = {peer.name: medians[peer.name] for peer in OTHERS}
    measured = {name: value for name, value in theirs.items() if value is not None}
    if "failed" in cells or not measured:
        return [kind, *cells, "", "", "", "failed" if "failed" in cells else "ours only"]
    best = min(measured, key=lambda name: measured[name])
    sides = Side(WOODSHED.name, keys[WOODSHED.name]), Side(best, keys[best])
    ratio = ratio_of(Row(*sides, best, MICROSECONDS, "", False), collection)
    assert ratio is not None  # both were measured
    verdict = "met" if ratio.value > 1 else "MISSED"
    lowest = f"{ratio.low:.3g} to {ratio.high:.3g}"
    return [kind, *cells, f"**{ratio.value:.3g}** ({best})", lowest, "> 1", verdict]


def _update_line(collection: Collection, size: int) -> str:
    seconds = collection.median(WOODSHED.name, key(kinds.UPDATE, size))
    limit = f"target ≤ {UPDATE_TARGET * MICROSECONDS.scale:g} µs"
    if seconds is None:
        return f"Woodshed's {kinds.UPDATE}: failed ({limit})."
    verdict = "met" if seconds <= UPDATE_TARGET else "MISSED"
    shown = f"{seconds * MICROSECONDS.scale:,.4g} µs"
    return f"Woodshed's {kinds.UPDATE}: {shown}, {limit}: {verdict}."


def _remarks() -> list[str]:
    return [
        f"{name}, {kind}: {said}{reason}."
        for said, table_of in (("cannot: ", CANNOT), ("\\* ", REMARKS))
        for name, reasons in table_of.items()
        for kind, reason in reasons.items()
    ]
