"""One thread writes while three sample: rows are never torn, and nobody waits for ever."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from tests.replay.line import GOAL_POSITION, POSITION, write_episode

from woodshed.replay import Episode, Hindsight, Priorities, ReplayBuffer

Array = NDArray[Any]
LANES = 3
WIDTH = 64
SECONDS = 1.5
TIME_OUT = 60.0

WIDE = spaces.Box(-np.inf, np.inf, (WIDTH,), np.float32)
GOAL = spaces.Box(-np.inf, np.inf, (3,), np.float32)
SPACE = spaces.Dict({"observation": WIDE, "achieved_goal": GOAL, "desired_goal": GOAL})


def code(lane: int, episode: int, step: int) -> int:
    """One whole number that float32 holds, for a row."""
    return lane + 4 * (step + 64 * (episode % 4096))


def parts(number: Array) -> tuple[Array, Array, Array]:
    """Lane, step and episode (modulo 4096) of rows."""
    whole = number.astype(np.int64)
    return whole % 4, whole // 4 % 64, whole // 256


def distance(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
    """A reward that tells both goals apart."""
    result: Array = (achieved - 3 * desired)[:, 0] % 1000
    return result


def look(lane: int, episode: int, steps: int) -> Any:
    numbers = np.array([code(lane, episode, step) for step in range(steps + 1)], np.float32)
    return {
        "observation": np.repeat(numbers[:, None], WIDTH, axis=1),
        "achieved_goal": np.repeat(numbers[:, None], 3, axis=1),
        "desired_goal": np.full((steps + 1, 3), -1 - code(lane, episode, 0), np.float32),
    }


def write(buffer: ReplayBuffer, generator: np.random.Generator, episode: int) -> None:
    """An episode in each lane: whole ones, and one in pieces; then late priorities."""
    for lane in range(LANES):
        steps = int(generator.integers(2, 50))
        observation = look(lane, episode, steps)
        numbers = observation["observation"][:-1, 0]
        middle = int(generator.integers(1, steps))
        for begin, end, ending in ((0, middle, "open"), (middle, steps, "truncated")):
            piece = {key: leaf[begin : end + 1] for key, leaf in observation.items()}
            buffer.extend(
                lane,
                Episode(piece, numbers[begin:end, None], numbers[begin:end], ending),  # type: ignore[arg-type]
            )
    handle = generator.integers(0, LANES * 10_000, 50)
    buffer.update_priorities(handle, generator.uniform(0.1, 5.0, 50))


def check_goals(observation: Any, handle: Array, relabelled: Array) -> Array:
    """The row numbers of some observations `[B]`, all of whose leaves must belong together."""
    seen, achieved = observation["observation"], observation["achieved_goal"]
    number: Array = seen[:, 0]
    assert (seen == number[:, None]).all(), "torn observation"
    assert (achieved == number[:, None]).all(), "torn achieved goal"
    desired = observation["desired_goal"]
    assert (desired == desired[:, :1]).all(), "torn goal"
    lane, _, episode = parts(number)
    assert (lane == handle % LANES).all(), "another lane's row"
    original = -1 - (lane + 256 * episode)
    assert (desired[~relabelled, 0] == original[~relabelled]).all(), "another episode's goal"
    goal_lane, goal_step, goal_episode = parts(desired[relabelled, 0])
    assert (goal_lane == lane[relabelled]).all(), "a goal of another lane"
    assert (goal_episode == episode[relabelled]).all(), "a goal of another episode"
    assert (goal_step >= 1).all()
    return number


def check_windows(buffer: ReplayBuffer) -> None:
    batch = buffer.sample(64)
    here: Any = batch.observation
    there: Any = batch.next_observation
    number = check_goals(here, batch.handle, batch.relabelled)
    after = check_goals(there, batch.handle, batch.relabelled)
    assert (after - number == 4 * batch.steps).all(), "a window that leaves its episode"
    assert (batch.action[:, 0] == number).all()
    assert ((batch.steps >= 1) & (batch.steps <= 3)).all()
    assert (here["desired_goal"] == there["desired_goal"]).all()
    goal = here["desired_goal"][:, 0]
    expected = np.zeros(64)
    for i in range(3):
        achieved = number + 4 * (i + 1)
        reward = np.where(batch.relabelled, (achieved - 3 * goal) % 1000, number + 4 * i)
        expected += 0.5**i * np.where(i < batch.steps, reward, 0)
    np.testing.assert_allclose(batch.reward, expected, rtol=1e-5)
    np.testing.assert_allclose(batch.discount, 0.5**batch.steps)
    assert (batch.weight > 0).all()


def check_sequences(buffer: ReplayBuffer) -> None:
    batch = buffer.sample_sequences(16, length=5, burn_in=2)
    there: Any = batch.observation
    picked = batch.action[:, 2, 0]
    for t in range(7 + 3):
        observation = {key: leaf[:, t] for key, leaf in there.items()}
        number = check_goals(observation, batch.handle, batch.relabelled)
        if t < 7:
            mask = batch.mask[:, t]
            assert (batch.action[mask, t, 0] == number[mask]).all()
            assert (number[mask] == picked[mask] + 4 * (t - 2)).all(), "steps out of order"
    assert batch.mask[:, 2].all()


def make() -> ReplayBuffer:
    hindsight = Hindsight({"original": 0.5, "future": 0.5}, compute_reward=distance)
    return ReplayBuffer(
        SPACE,
        POSITION,
        600,
        n_envs=LANES,
        gamma=0.5,
        n_step=3,
        hindsight=hindsight,
        priorities=Priorities(),
    )


def test_one_writes_while_three_sample() -> None:
    buffer = make()
    generator = np.random.default_rng(0)
    write(buffer, generator, 0)
    failures: list[BaseException] = []
    counts = [0, 0, 0, 0]
    end = time.monotonic() + SECONDS

    def again(index: int, work: Callable[[], None]) -> None:
        try:
            while time.monotonic() < end:
                work()
                counts[index] += 1
        except BaseException as error:
            failures.append(error)

    works: list[Callable[[], None]] = [
        lambda: write(buffer, generator, counts[0] + 1),
        lambda: check_windows(buffer),
        lambda: check_sequences(buffer),
        lambda: check_windows(buffer) if counts[3] % 2 else check_sequences(buffer),
    ]
    threads = [
        threading.Thread(target=again, args=(index, work), daemon=True)
        for index, work in enumerate(works)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIME_OUT)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    assert failures == []
    assert min(counts) > 20, "somebody starved"
    check_windows(buffer)
    check_sequences(buffer)


def test_what_is_saved_while_another_thread_writes_is_whole(tmp_path: Path) -> None:
    buffer, generator = make(), np.random.default_rng(1)
    done = threading.Event()
    failures: list[BaseException] = []

    def write_on() -> None:
        try:
            episode = 0
            while not done.is_set():
                write(buffer, generator, episode)
                episode += 1
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=write_on, daemon=True)
    thread.start()
    while len(buffer) < 300 and thread.is_alive():
        time.sleep(0.001)
    for _ in range(15):
        buffer.save(tmp_path / "saved")
        loaded = make()
        loaded.load(tmp_path / "saved")
        assert len(loaded) >= 300
        check_windows(loaded)
        check_sequences(loaded)
    done.set()
    thread.join(TIME_OUT)
    assert not thread.is_alive(), "deadlock"
    assert failures == []


def test_two_samplers_are_in_the_reward_function_at_once() -> None:
    barrier = threading.Barrier(2, timeout=TIME_OUT)
    ready = threading.Event()
    met = []

    def compute_reward(achieved: Array, desired: Array, info: Mapping[str, Array]) -> Array:
        if ready.is_set():
            met.append(barrier.wait())
        return np.zeros(achieved.shape[:-1])

    hindsight = Hindsight("final", k=1e9, compute_reward=compute_reward)
    buffer = ReplayBuffer(GOAL_POSITION, POSITION, 100, hindsight=hindsight)
    write_episode(buffer, range(10), [0.0] * 9, "truncated", goal=50)
    buffer.sample(4)
    ready.set()
    batches = []
    threads = [
        threading.Thread(target=lambda: batches.append(buffer.sample(4)), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIME_OUT)
    assert sorted(met) == [0, 1]
    assert len(batches) == 2
    assert all(batch.relabelled.all() for batch in batches)
