"""A sum-tree: draws a leaf with probability proportional to its value.

Eight children to a node, so that the children of one lie in one cache line and a million leaves
take seven levels. A node is always the sum of its children, added anew: no rounding builds up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel

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
    return SumTree(np.zeros(ends[-1]), np.concatenate([[0], ends[:-1]]).astype(np.int64))


def tree_bytes(leaves: int) -> int:
    """Bytes of a tree, about."""
    return 8 * (leaves + leaves // (CHILDREN - 1))


@kernel
def set_leaf(tree, leaf, value):  # type: ignore[no-untyped-def]
    """Give a leaf a value, at least 0."""
    nodes, offsets = tree
    nodes[leaf] = value
    for level in range(1, offsets.size):
        leaf //= CHILDREN
        first = offsets[level - 1] + leaf * CHILDREN
        total = 0.0
        for child in range(first, first + CHILDREN):
            total += nodes[child]
        nodes[offsets[level] + leaf] = total


@kernel
def find_leaf(tree, u):  # type: ignore[no-untyped-def]
    """The leaf where the running sum of leaves passes u, for u from 0 to below the root's value.

    Where rounding would lead past a node's last child, it takes the last one that is not 0; so a
    leaf of value 0 is never found, and the search never leaves the tree.
    """
    nodes, offsets = tree
    node = 0
    for level in range(offsets.size - 2, -1, -1):
        first = offsets[level] + node * CHILDREN
        chosen = -1
        for child in range(first, first + CHILDREN):
            value = nodes[child]
            if value > 0:
                chosen = child
                if u < value:
                    break
                u -= value
        node = chosen - offsets[level]
    return node
