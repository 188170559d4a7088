"""A sum-tree: draws a leaf with probability proportional to its value.

Eight children to a node, so that the children of one lie in one cache line and a million leaves
take seven levels. A node is always the sum of its children, added anew: no rounding builds up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel
from woodshed.replay.machine import prefetch_item

CHILDREN = 8


class SumTree(NamedTuple):
    """The nodes of all levels, leaves first.

    Attributes:
        nodes: float64; each level a multiple of `CHILDREN` long, the last one node.
        offsets: `[levels]` int64, where each level begins in `nodes`. No level: no tree.
    """

    nodes: NDArray[np.float64]
    offsets: NDArray[np.int64]


def make_tree(leaves: int) -> SumTree:
    """A tree of zeros; without leaves, one that stands for no tree."""
    if leaves == 0:
        return SumTree(np.zeros(0), np.zeros(0, np.int64))
    sizes = [-(-leaves // CHILDREN) * CHILDREN]
    while sizes[-1] > CHILDREN:
        sizes.append(-(-sizes[-1] // CHILDREN // CHILDREN) * CHILDREN)
    ends = np.cumsum([*sizes, 1])
    return SumTree(_aligned_zeros(ends[-1]), np.concatenate([[0], ends[:-1]]).astype(np.int64))


def _aligned_zeros(count: int) -> NDArray[np.float64]:
    """Zeros from the start of a cache line on."""
    room = np.zeros(count + CHILDREN)
    skipped = -room.ctypes.data % (8 * CHILDREN) // 8
    return room[skipped : skipped + count]


def tree_bytes(leaves: int) -> int:
    """Bytes of a tree, about."""
    return 8 * (leaves + leaves // (CHILDREN - 1))


@kernel
def _sum_children(tree, level, node):  # type: ignore[no-untyped-def]
    nodes, offsets = tree
    first = offsets[level - 1] + node * CHILDREN
    total = 0.0
    for child in range(first, first + CHILDREN):
        total += nodes[child]
    nodes[offsets[level] + node] = total


@kernel
def set_leaf(tree, leaf, value):  # type: ignore[no-untyped-def]
    """Give a leaf a value, at least 0."""
    tree.nodes[leaf] = value
    for level in range(1, tree.offsets.size):
        leaf //= CHILDREN
        _sum_children(tree, level, leaf)


@kernel
def add_up(tree, leaf):  # type: ignore[no-untyped-def]
    """Make the nodes above some leaves, whose values are new, the sums that they should be.

    Level by level, and a level with fewer nodes than leaves as a whole.

    Args:
        tree: its nodes are changed.
        leaf: `[B]`, overwritten; -1 names none.
    """
    offsets = tree.offsets
    for level in range(1, offsets.size):
        size = (offsets[level] - offsets[level - 1]) // CHILDREN
        if size <= leaf.size:
            for node in range(size):
                _sum_children(tree, level, node)
        else:
            for i in range(leaf.size):
                if leaf[i] >= 0:
                    leaf[i] //= CHILDREN
                    _sum_children(tree, level, leaf[i])


@kernel
def _descend(tree, level, node, u):  # type: ignore[no-untyped-def]
    """The child where the running sum of a node's children passes u, and what is left of u there.

    Where rounding would lead past the last child, it takes the last one that is not 0; so a child
    of value 0 is never taken, and the search never leaves the tree.
    """
    nodes, offsets = tree
    first = offsets[level] + node * CHILDREN
    running, before, chosen = 0.0, 0.0, 0
    for child in range(CHILDREN):  # without a branch that depends on u: those are foretold badly
        running += nodes[first + child]
        passed = running <= u
        before = running if passed else before
        chosen = child + 1 if passed else chosen
    if chosen == CHILDREN:
        chosen = CHILDREN - 1
        while chosen > 0 and nodes[first + chosen] == 0:
            chosen -= 1
    return node * CHILDREN + chosen, u - before


@kernel
def find_leaves(tree, u, leaf):  # type: ignore[no-untyped-def]
    """The leaves where the running sum of leaves passes each u, from 0 to below the root's value.

    Of all leaves that are not 0, and of no others, whatever rounding does; see `_descend`. Level by
    level, so that the processor fetches ahead.

    Args:
        tree: only read.
        u: `[B]` float64; overwritten.
        leaf: `[B]` int64, filled.
    """
    nodes, offsets = tree
    leaf[:] = 0
    for level in range(offsets.size - 2, -1, -1):
        for b in range(u.size):
            leaf[b], u[b] = _descend(tree, level, leaf[b], u[b])
            if level > 0:
                prefetch_item(nodes, offsets[level - 1] + leaf[b] * CHILDREN)
