"""Random numbers inside kernels.

A sample call draws one 64-bit number from the buffer's `numpy.random.Generator` and expands it with
SplitMix64 (Steele, Lea and Flood 2014): numba takes 36 µs for 256 numbers from a Generator, 3 µs
this way, and the Generator stays the only state.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Stream = NDArray[np.uint64]  # [1], the state; kernels advance it in place


def open_stream(generator: np.random.Generator) -> Stream:
    """Start a stream from one draw of the generator."""
    return generator.integers(0, 2**64, size=1, dtype=np.uint64)


@njit(nogil=True, cache=True)
def bits(stream):  # type: ignore[no-untyped-def]
    """64 random bits."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def below(stream, n):  # type: ignore[no-untyped-def]
    """A whole number, uniform in 0 … n-1: masked bits, drawn again until they fit, so exact."""
    mask = np.uint64(n - 1)
    mask |= mask >> np.uint64(1)
    mask |= mask >> np.uint64(2)
    mask |= mask >> np.uint64(4)
    mask |= mask >> np.uint64(8)
    mask |= mask >> np.uint64(16)
    mask |= mask >> np.uint64(32)
    while True:
        value = bits(stream) & mask
        if value < np.uint64(n):
            return np.int64(value)


@njit(nogil=True, cache=True)
def unit(stream):  # type: ignore[no-untyped-def]
    """A float, uniform in [0, 1), from 53 bits."""
    return np.float64(bits(stream) >> np.uint64(11)) * 2.0**-53
