"""Arrays in `.npy` files with a checksum: written without a copy, mapped only where they are whole.

The checksum is added up of what is written, not read back from the file: so what a disk has made
of it since is found at reading.
"""

import io
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.files import check_file, damaged


def write_array(path: Path, pieces: Sequence[NDArray[Any]]) -> int:
    """Write pieces, `[n, …]` each, one after the other as one array.

    Args:
        path: of a file that is not there yet.
        pieces: at least one, C-contiguous, which differ in their first axis only.

    Returns:
        CRC-32 of the file.
    """
    shape = (sum(map(len, pieces)), *pieces[0].shape[1:])
    parts: list[bytes | memoryview] = [_header(pieces[0].dtype, shape), *map(_as_bytes, pieces)]
    value = 0
    with path.open("xb") as file:
        for part in parts:
            file.write(part)
            value = zlib.crc32(part, value)
    return value


def array_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    """Length of the file that `write_array` writes."""
    return len(_header(dtype, shape)) + dtype.itemsize * math.prod(shape)


def read_array(path: Path, checksum: int, dtype: str, ndim: int) -> NDArray[Any]:
    """Map an array, once its checksum is found to be right.

    Raises:
        WoodshedError: when it is missing, damaged, or of something else; the message names it.
    """
    check_file(path, checksum)
    return map_array(path, dtype, ndim)


def map_array(path: Path, dtype: str, ndim: int) -> NDArray[Any]:
    """Map an array whose checksum was found to be right.

    Raises:
        WoodshedError: when it is missing, damaged, or of something else; the message names it.
    """
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises several kinds for foreign bytes
        raise damaged(path, str(error)) from None
    if array.dtype != np.dtype(dtype) or array.ndim != ndim or not array.flags.c_contiguous:
        raise damaged(path, f"it holds {array.ndim} axes of {array.dtype}")
    return np.asarray(array)  # slices of a memmap take longer


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    said = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, said)
    return stream.getvalue()


def _as_bytes(piece: NDArray[Any]) -> memoryview:
    # Not memoryview(piece).cast("B"): that takes no empty arrays.
    items: Any = piece.reshape(-1).view(np.uint8)
    return memoryview(items)
