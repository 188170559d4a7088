"""Every sampled row of every random history is what the definitions say.

The number of histories per run is 300, shared by the strategies of hindsight; the environment
variable WOODSHED_EXAMPLES sets another (`WOODSHED_EXAMPLES=10000 pytest tests/replay/...`).
Histories are the same in every run.
"""

import os
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.reference.replay import Place, ReferenceReplay, same, take
from tests.reference.windows import Window, goals, original_window, relabelled_window
from tests.replay import worlds
from tests.replay.filling import desired_goals, make_buffer, write
from tests.replay.histories import Add, Plan, Strategy, plans, play

from woodshed.replay import Batch

STRATEGIES: tuple[Strategy | None, ...] = (None, "future", "final", "episode", "random")
EXAMPLES = int(os.environ.get("WOODSHED_EXAMPLES", "300"))


def scribble(tree: Any) -> None:
    """Overwrite every array of a tree: nobody else may see it."""
    for leaf in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(leaf, dict | tuple):
            scribble(leaf)
        elif isinstance(leaf, np.ndarray):
            leaf[...] = 77


def fits(batch: Batch, i: int, window: Window) -> bool:
    """Whether row i of a batch is this window."""
    return (
        int(batch.steps[i]) == window.steps
        and abs(float(batch.reward[i]) - window.reward) < 1e-3
        and abs(float(batch.discount[i]) - window.discount) < 1e-6
        and same(take(batch.observation, i), window.observation)
        and same(batch.action[i], window.action)
        and same(take(batch.next_observation, i), window.next_observation)
    )


def expected(plan: Plan, place: Place, goal: Any) -> list[Window]:
    """The windows that a row of a batch may be: one for each n that may have been drawn."""
    low, high = plan.n_step if isinstance(plan.n_step, tuple) else (plan.n_step, plan.n_step)
    if goal is None:
        return [original_window(place, n, plan.gamma) for n in range(low, high + 1)]
    terminated = worlds.compute_terminated if plan.with_compute_terminated else None
    return [
        relabelled_window(place, n, plan.gamma, goal, worlds.compute_reward, terminated)
        for n in range(low, high + 1)
    ]


def check_batch(
    batch: Batch, size: int, plan: Plan, strategy: Strategy | None, reference: ReferenceReplay
) -> None:
    places = reference.by_handle()
    allowed: dict[int, set[bytes]] = {}
    assert len(batch.handle) == size
    np.testing.assert_array_equal(batch.weight, np.ones(size, np.float32))
    for i in range(size):
        handle = int(batch.handle[i])
        assert handle in places, f"row {i}: handle {handle} cannot be sampled"
        place, goal = places[handle], None
        if batch.relabelled[i]:
            assert strategy is not None
            assert plan.k > 0
            goal = desired_goals(batch)[i]
            key = 0 if strategy == "random" else handle  # there every row has the same goals
            if key not in allowed:
                drawn = goals(reference, place, strategy)
                allowed[key] = {goal.value.tobytes() for goal in drawn}
            assert goal.tobytes() in allowed[key], f"row {i}: {goal} is not a {strategy} goal"
        else:
            assert strategy is None or plan.k < 1e9
        windows = expected(plan, place, goal)
        assert any(fits(batch, i, window) for window in windows), (
            f"row {i}, handle {handle}: got {take(batch._asdict(), i)}, may be {windows}"
        )


def check_history(plan: Plan, strategy: Strategy | None) -> None:
    buffer = make_buffer(plan, strategy)
    reference = ReferenceReplay(plan.capacity, plan.n_envs)
    assert buffer.rows_per_lane == reference.rows_per_lane
    for t, call in enumerate(play(plan)):
        write(call, buffer, reference)
        if isinstance(call, Add):
            scribble(call)
        assert len(buffer) == len(reference)
        if t % plan.sample_every == 0 and len(reference) > 0:
            for size in (*plan.batch_sizes, min(len(reference) + 1, 100)):
                batch = buffer.sample(size)
                check_batch(batch, size, plan, strategy, reference)
                scribble(batch)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sampled_rows_are_what_the_definitions_say(strategy: Strategy | None) -> None:
    kinds = worlds.GOAL_KINDS if strategy else (*worlds.GOAL_KINDS, "flat", "discrete")

    @hypothesis.seed(STRATEGIES.index(strategy))  # other histories for each strategy
    @settings(
        max_examples=max(1, EXAMPLES // len(STRATEGIES)),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(kinds, hindsight=strategy is not None))
    def check(plan: Plan) -> None:
        check_history(plan, strategy)

    check()
