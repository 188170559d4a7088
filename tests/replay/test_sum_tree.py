"""The sum-tree: every leaf is found, and nothing else, whatever the size."""

import math

import numpy as np
import pytest

from woodshed.replay.sum_tree import SumTree, find_leaves, make_tree, set_leaf

SIZES = [*range(1, 75), *range(100, 701, 50), 127, 128, 129, 255, 256, 511, 512, 513, 575, 576, 577]


def filled(leaves: list[float]) -> SumTree:
    tree = make_tree(len(leaves))
    for leaf, value in enumerate(leaves):
        set_leaf(tree, leaf, value)
    return tree


def find_leaf(tree: SumTree, u: float) -> int:
    leaf = np.empty(1, np.int64)
    find_leaves(tree, np.array([u]), leaf)
    return int(leaf[0])


def root(tree: SumTree) -> float:
    """The sum of all leaves, as the tree has it."""
    return float(tree.nodes[-1])


@pytest.mark.parametrize("size", SIZES)
def test_every_leaf_is_found_at_both_its_edges(size: int) -> None:
    """Leaf i of value i + 1 takes the whole numbers from i (i + 1) / 2 to the next such."""
    tree = filled([i + 1.0 for i in range(size)])
    assert root(tree) == size * (size + 1) / 2
    for leaf in range(size):
        start, end = leaf * (leaf + 1) / 2, (leaf + 1) * (leaf + 2) / 2
        assert find_leaf(tree, start) == leaf
        assert find_leaf(tree, float(np.nextafter(end, 0))) == leaf


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 64, 65, 700])
@pytest.mark.parametrize("at", ["first", "middle", "last"])
def test_the_only_leaf_is_found_by_every_u(size: int, at: str) -> None:
    leaf = {"first": 0, "middle": size // 2, "last": size - 1}[at]
    tree = make_tree(size)
    set_leaf(tree, leaf, 0.3)
    assert root(tree) == 0.3
    for u in (0.0, 5e-324, 0.15, np.nextafter(0.3, 0), 0.3, np.nextafter(0.3, 1)):
        assert find_leaf(tree, float(u)) == leaf


@pytest.mark.parametrize("size", [*range(1, 20), 63, 64, 65, 100, 511, 512, 513, 699, 700])
def test_u_at_the_very_edge_never_finds_a_leaf_of_zero(size: int) -> None:
    """Values that do not add up exactly, half of them zero, the last ones always."""
    generator = np.random.default_rng(size)
    for _ in range(10):
        leaves = generator.random(size) * 10.0 ** generator.integers(-8, 8, size)
        leaves *= generator.random(size) < 0.5
        leaves[size // 2 + 1 :] = 0.0
        leaves[generator.integers(0, size // 2 + 1)] = 0.1
        tree = filled(leaves.tolist())
        total = root(tree)
        edges = [0.0, np.nextafter(total, 0), total, np.nextafter(total, np.inf)]
        running = np.cumsum(leaves)
        near = [*running, *np.nextafter(running, 0), *np.nextafter(running, np.inf)]
        for u in (*edges, *near):
            found = int(find_leaf(tree, float(u)))
            assert 0 <= found < size
            assert leaves[found] > 0


@pytest.mark.parametrize("size", [1, 8, 9, 100, 700])
def test_the_root_is_the_sum_of_the_leaves_after_many_changes(size: int) -> None:
    """No rounding builds up, though values of very different size come and go."""
    generator = np.random.default_rng(size)
    leaves, tree = [0.0] * size, make_tree(size)
    for t in range(3_000):
        leaf = int(generator.integers(size))
        leaves[leaf] = float(10.0 ** generator.uniform(-12, 12))
        set_leaf(tree, leaf, leaves[leaf])
        if t % 100 == 0:
            assert root(tree) == pytest.approx(math.fsum(leaves), rel=1e-14)
    for leaf in range(size):
        leaves[leaf] = 1e-9
        set_leaf(tree, leaf, 1e-9)
    assert root(tree) == pytest.approx(size * 1e-9, rel=1e-13)
    for leaf in range(size):
        set_leaf(tree, leaf, 0.0)
    assert root(tree) == 0.0


def test_leaves_are_found_in_proportion() -> None:
    """The running sums of u over a fine even grid."""
    leaves = [0.5, 0.0, 2.0, 1.0, 0.0, 0.25, 4.0, 0.25, 8.0]
    tree = filled(leaves)
    grid = (np.arange(1600) + 0.5) / 100  # 16 in all
    counts = np.bincount([int(find_leaf(tree, float(u))) for u in grid], minlength=9)
    assert counts.tolist() == [50, 0, 200, 100, 0, 25, 400, 25, 800]


def test_no_leaves_no_tree() -> None:
    assert make_tree(0).nodes.size == 0


def test_a_new_tree_is_all_zero() -> None:
    for size in (1, 8, 9, 65, 700):
        assert not make_tree(size).nodes.any()
