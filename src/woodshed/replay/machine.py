"""What the processor can do that numba has no word for: fetch ahead, and copy a run of words.

A batch reads some thousand places of a large store, each a wait of about 100 ns by itself. Asked
for as soon as the rows are drawn, they arrive together. And a run of words is copied five times as
fast by `memcpy` as by a loop.

Items of an array are counted here as they lie in memory, whatever its axes; it must be contiguous.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from woodshed.replay.kernel import kernel
from woodshed.replay.records import WORD_BYTES

LINE_WORDS = 64 // WORD_BYTES  # of a cache line


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch item `index` of an array, for reading: LLVM's instruction of that name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature.args[0], arguments[0])
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        get_or_insert: Any = cgutils.get_or_insert_function
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = get_or_insert(builder.module, kind, "llvm.prefetch.p0")
        read, keep_close, data_cache = number(0), number(3), number(1)
        builder.call(prefetch, [pointer, read, keep_close, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _copy(typing_context: Any, out: Any, at: Any, source: Any, first: Any, count: Any) -> Any:
    """Copy `count` words from item `first` of `source` on to item `at` of `out`, which is apart."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = _data(context, builder, signature.args[0], arguments[0])
        origin = _data(context, builder, signature.args[2], arguments[2])
        to, start = builder.gep(target, [arguments[1]]), builder.gep(origin, [arguments[3]])
        raw_memcpy: Any = cgutils.raw_memcpy
        raw_memcpy(builder, to, start, arguments[4], WORD_BYTES)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64, types.int64), generate


def _copy_one(typing_context: Any, out: Any, at: Any, source: Any, item: Any) -> Any:
    """Copy item `item` of `source` to item `at` of `out`, without checks for negative ones."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = _data(context, builder, signature.args[0], arguments[0])
        origin = _data(context, builder, signature.args[2], arguments[2])
        value = builder.load(builder.gep(origin, [arguments[3]]))
        builder.store(value, builder.gep(target, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64), generate


prefetch_item: Any = intrinsic(_prefetch)
copy_items: Any = intrinsic(_copy)
copy_item: Any = intrinsic(_copy_one)


@kernel
def item_at(array, lane, place, item):  # type: ignore[no-untyped-def]
    """Where in `array` `[L, R, items]` an item of what a row has there lies."""
    _, rows, items = array.shape
    return (lane * rows + place) * items + item


@kernel
def prefetch_words(words, lane, place, first, count):  # type: ignore[no-untyped-def]
    """Ask for words `first … first + count - 1` from a row's record on.

    They may reach into the records after it; what would be past the last one is left out.
    """
    start = item_at(words, lane, place, first)
    end = min(start + count, words.size)
    for word in range(start, end, LINE_WORDS):
        prefetch_item(words, word)
    prefetch_item(words, end - 1)


@kernel
def prefetch_marks(episodes, lane, place):  # type: ignore[no-untyped-def]
    """Ask for what the episode index says of a row."""
    prefetch_item(episodes.marks, item_at(episodes.marks, lane, place, 0))
