"""The replay comparison: which workers run, and which ratios the table shows."""

from collections.abc import Sequence

from benchmarks.collection import Job, Key
from benchmarks.peers import SB3, WOODSHED
from benchmarks.replay_worker import (
    BATCH_SIZES,
    MEMORY_N_ENVS,
    MEMORY_TRANSITIONS,
    N_ENVS,
    PLAIN_N_ENVS,
)
from benchmarks.table import BYTES, MICROSECONDS, Row, Side, Target

TRANSITIONS = (10_000, 100_000, 1_000_000)
SMALLEST, LARGEST = TRANSITIONS[0], TRANSITIONS[-1]

SPEED_TARGETS = {Key("sample 256, hindsight", LARGEST, 8): Target(at_least=30)}
GROWTH_TARGET = Target(at_most=2)
MEMORY_TARGET = Target(at_most=0.3)


def time_jobs(transitions: Sequence[int], calls: int) -> list[Job]:
    """One round of timing: the sides in turn for each size."""
    return [
        Job(peer, "replay", ("times", "--transitions", str(size), "--calls", str(calls)))
        for size in transitions
        for peer in (WOODSHED, SB3)
    ]


def memory_jobs() -> list[Job]:
    """Memory is the same in every run: one round is enough."""
    return [
        Job(peer, "replay", ("memory", "--dtype", dtype))
        for dtype in ("float64", "float32")
        for peer in (WOODSHED, SB3)
    ]


def speed_keys(transitions: Sequence[int]) -> list[Key]:
    """Everything that is timed for both sides."""
    operations = [*(f"sample {size}" for size in BATCH_SIZES), "add one vector step"]
    return [
        Key(f"{operation}, {kind}", size, n_envs)
        for kind, each_n_envs in (("hindsight", N_ENVS), ("plain", PLAIN_N_ENVS))
        for operation in operations
        for size in transitions
        for n_envs in each_n_envs
    ]


def rows(transitions: Sequence[int]) -> list[Row]:
    """The table's replay part."""
    full_range = (transitions[0], transitions[-1]) == (SMALLEST, LARGEST)
    speed = [
        Row(
            Side(WOODSHED.name, key),
            Side(SB3.name, key),
            SB3.name,
            MICROSECONDS,
            "their time / ours",
            False,
            SPEED_TARGETS.get(key),
        )
        for key in speed_keys(transitions)
    ]
    growth = [
        Row(
            Side(WOODSHED.name, key),
            Side(WOODSHED.name, key._replace(transitions=transitions[0])),
            f"Woodshed at {transitions[0]:,}",
            MICROSECONDS,
            "our time / ours in the small buffer",
            True,
            GROWTH_TARGET if key.what == "sample 256, hindsight" and full_range else None,
        )
        for key in speed_keys(transitions[-1:])
        if key.what.startswith("sample") and len(transitions) > 1
    ]
    memory = [
        Row(
            Side(WOODSHED.name, key),
            Side(SB3.name, key),
            SB3.name,
            BYTES,
            "our memory / theirs",
            True,
            MEMORY_TARGET if "float64" in key.what else None,
        )
        for dtype in ("float64", "float32")
        for part in ("resident set", "arrays")
        for key in [
            Key(f"bytes per transition, {part}, {dtype} spaces", MEMORY_TRANSITIONS, MEMORY_N_ENVS)
        ]
    ]
    return [*speed, *growth, *memory]
