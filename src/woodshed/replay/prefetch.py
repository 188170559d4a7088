"""Asking the processor to fetch a row before it is needed.

A batch reads some thousand places of a large store, each a wait of about 100 ns by itself. Asked
for as soon as the rows are drawn, they arrive together.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from woodshed.replay.kernel import kernel
from woodshed.replay.records import WORD_BYTES

LINE_WORDS = 64 // WORD_BYTES  # of a cache line


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch item `index` of a flat array, for reading: LLVM's instruction of that name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        get_or_insert: Any = cgutils.get_or_insert_function
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = get_or_insert(builder.module, kind, "llvm.prefetch.p0")
        read, keep_close, data_cache = number(0), number(3), number(1)
        builder.call(prefetch, [pointer, read, keep_close, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch_item: Any = intrinsic(_prefetch)


@kernel
def prefetch_words(words, lane, row, first, count):  # type: ignore[no-untyped-def]
    """Ask for words `first … first + count - 1` of a row's record."""
    _, rows, record_words = words.shape
    start = (lane * rows + row % rows) * record_words + first
    flat = words.reshape(-1)
    for word in range(0, count, LINE_WORDS):
        prefetch_item(flat, start + word)
    prefetch_item(flat, start + count - 1)


@kernel
def prefetch_row(episodes, lane, row):  # type: ignore[no-untyped-def]
    """Ask for what the episode index says of a row."""
    rows = episodes.left.shape[1]
    place = lane * rows + row % rows
    prefetch_item(episodes.left.reshape(-1), place)
    prefetch_item(episodes.ending.reshape(-1), place)
