"""What the buffer keeps and gives out: capacity, copies, dtypes, handles, seeds, threads."""

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.reference.replay import same
from tests.replay.line import POSITION, rows, step, write_episode

from woodshed.replay import Batch, ReplayBuffer


def make(capacity: int = 100, **options: object) -> ReplayBuffer:
    return ReplayBuffer(POSITION, POSITION, capacity, **options)  # type: ignore[arg-type]


def test_capacity_is_exact_for_one_endless_episode() -> None:
    buffer = make(capacity=5)
    write_episode(buffer, range(8), [0.0] * 7, "open")
    assert (len(buffer), buffer.capacity, buffer.rows_per_lane) == (5, 5, 6)
    assert {key[0] for key in rows(buffer)} == {2, 3, 4, 5, 6}


@pytest.mark.parametrize(("n_envs", "rows_per_lane"), [(1, 11), (2, 6), (3, 5), (4, 4), (20, 2)])
def test_rows_per_lane(n_envs: int, rows_per_lane: int) -> None:
    buffer = make(capacity=10, n_envs=n_envs)
    assert (buffer.rows_per_lane, buffer.n_envs, buffer.gamma) == (rows_per_lane, n_envs, 0.99)


def test_handles_name_one_row_for_ever_and_grow() -> None:
    buffer = make(capacity=4, n_step=3)
    owner: dict[int, float] = {}
    newest = -1
    for episode in range(6):
        start = 10 * episode
        write_episode(buffer, [start, start + 1, start + 2], [0.0, 0.0], "truncated")
        batch = buffer.sample(200)
        assert batch.handle.dtype == np.int64
        assert isinstance(batch.observation, np.ndarray)
        for handle, position in zip(batch.handle, batch.observation[:, 0], strict=True):
            assert owner.setdefault(int(handle), float(position)) == position
        assert batch.handle.max() > newest
        newest = int(batch.handle.max())
    # three rows an episode, the last one of each without an action
    assert owner == {3 * e + i: 10 * e + i for e in range(6) for i in range(2)}


def batches_equal(left: Batch, right: Batch) -> bool:
    return all(same(a, b) for a, b in zip(left, right, strict=True))


def test_the_same_seed_and_writes_give_the_same_batches() -> None:
    first, second, other = make(seed=3, n_step=(1, 3)), make(seed=3, n_step=(1, 3)), make(seed=4)
    for buffer in (first, second, other):
        write_episode(buffer, range(31), [0.0] * 30, "truncated")
    for size in (64, 1, 64):
        assert batches_equal(first.sample(size), second.sample(size))
    assert not batches_equal(first.sample(64), other.sample(64))
    assert not batches_equal(first.sample(64), first.sample(64))


def test_a_batch_is_a_copy() -> None:
    buffer = make(gamma=0.5)
    write_episode(buffer, [0, 1, 2], [3.0, 4.0], "terminated")
    before = rows(buffer)
    for array in buffer.sample(64):
        assert isinstance(array, np.ndarray)
        array[...] = 1
    assert rows(buffer) == before


def test_what_was_added_is_a_copy() -> None:
    buffer = make(gamma=0.5)
    given = step(0, 1, reward=1.0)
    buffer.add(**given)
    for array in given.values():
        array[...] = 77
    assert rows(buffer) == {(0, 1): (1.0, 0.5, 1)}
    assert buffer.sample(1).action == 1.0


def test_one_thread_may_write_while_others_sample() -> None:
    buffer = make(capacity=50, n_step=3, gamma=0.5)
    write_episode(buffer, [0, 1], [0.0], "open")
    wrong, written = [], threading.Event()

    def sample() -> None:
        while not written.is_set():
            batch = buffer.sample(64)
            gone = np.asarray(batch.next_observation)[:, 0] - np.asarray(batch.observation)[:, 0]
            if not np.array_equal(gone, batch.steps) or batch.steps.min() < 1:
                wrong.append(batch)

    readers = [threading.Thread(target=sample) for _ in range(2)]
    for reader in readers:
        reader.start()
    write_episode(buffer, range(1, 1501), [0.0] * 1499, "truncated")
    written.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_dtypes_and_shapes_of_a_batch() -> None:
    image = spaces.Box(0, 255, (4, 4, 3), np.uint8)
    state = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    space = spaces.Dict({"image": image, "state": state, "mode": spaces.Discrete(7)})
    buffer = ReplayBuffer(space, spaces.Discrete(3), 10)
    observation = {
        "image": np.full((1, 4, 4, 3), 200, np.uint8),
        "state": np.array([[0.1, 1 / 3]], np.float64),
        "mode": np.array([6]),
    }
    arrays = step(0, 1, reward=1 / 3, truncated=True)
    arrays |= {"observation": observation, "next_observation": observation}
    buffer.add(**arrays | {"action": np.array([2])})
    batch = buffer.sample(2)
    for tree in (batch.observation, batch.next_observation):
        assert isinstance(tree, dict)
        leaves = {key: (leaf.shape, leaf.dtype) for key, leaf in tree.items()}  # type: ignore[union-attr]
        assert leaves == {
            "image": ((2, 4, 4, 3), np.uint8),
            "state": ((2, 2), np.float32),
            "mode": ((2,), np.int64),
        }
        np.testing.assert_array_equal(tree["image"], 200)
        np.testing.assert_array_equal(tree["state"], np.array([[0.1, 1 / 3]] * 2, np.float32))
        np.testing.assert_array_equal(tree["mode"], 6)
    assert batch.action.tolist() == [2, 2]
    fields: list[tuple[Any, Any]] = [
        (batch.reward, np.float32),
        (batch.discount, np.float32),
        (batch.weight, np.float32),
        (batch.steps, np.int32),
        (batch.handle, np.int64),
        (batch.relabelled, np.bool_),
    ]
    for field, dtype in fields:
        assert (field.shape, field.dtype) == ((2,), dtype)
    assert batch.weight.tolist() == [1.0, 1.0]
    assert batch.relabelled.tolist() == [False, False]
    assert (batch.steps.tolist(), batch.handle.tolist()) == ([1, 1], [0, 0])


def test_float64_is_kept_on_request() -> None:
    buffer = ReplayBuffer(POSITION, POSITION, 10, float_dtype=np.float64)
    buffer.add(**step(0, 1) | {"observation": np.array([[0.1]])})
    assert buffer.sample(1).observation == 0.1


def test_nbytes_is_what_is_allocated() -> None:
    image = spaces.Box(0, 255, (10, 10), np.uint8)
    for space in (image, POSITION):
        make()  # what is loaded once is loaded now
        tracemalloc.start()
        buffer = ReplayBuffer(space, POSITION, 20_000)
        allocated, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert buffer.nbytes == pytest.approx(allocated, rel=0.02)


def test_an_observation_is_kept_once() -> None:
    image = spaces.Box(0, 255, (10, 10), np.uint8)
    buffer = ReplayBuffer(image, POSITION, 999)
    assert 1000 * (100 + 4 + 4) <= buffer.nbytes < 1000 * 200  # the image, action and reward
