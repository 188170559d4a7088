"""Random numbers inside kernels.

A sample call draws one 64-bit number from the buffer's `numpy.random.Generator` and expands it with
SplitMix64 (Steele, Lea and Flood 2014): numba takes 36 µs for 256 numbers from a Generator, 3 µs
this way, and the Generator stays the only state.
"""

import numpy as np
from numpy.typing import NDArray

from woodshed.replay.kernel import kernel

Stream = NDArray[np.uint64]
"""`[1]`, the state: at first one raw number of the generator; kernels advance it in place."""


@kernel
def bits(stream):  # type: ignore[no-untyped-def]
    """64 random bits."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def below(stream, n):  # type: ignore[no-untyped-def]
    """A whole number, uniform in 0 … n-1, for n up to 2^32; exact.

    Multiplies 32 bits by n and keeps the upper half; the few products that would make some numbers
    likelier are drawn again (Lemire 2019).
    """
    n = np.uint64(n)
    low_half = np.uint64(0xFFFFFFFF)
    product = (bits(stream) >> np.uint64(32)) * n
    if product & low_half < n:
        unfair = (np.uint64(1) << np.uint64(32)) % n
        while product & low_half < unfair:
            product = (bits(stream) >> np.uint64(32)) * n
    return np.int64(product >> np.uint64(32))


@kernel
def unit(stream):  # type: ignore[no-untyped-def]
    """A float, uniform in [0, 1), from 53 bits."""
    return np.float64(bits(stream) >> np.uint64(11)) * 2.0**-53
