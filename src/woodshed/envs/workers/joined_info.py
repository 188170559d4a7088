"""The info of all lanes from what each worker gave."""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from woodshed.envs.info import numbers


def packed(info: Mapping[str, NDArray[Any]]) -> bytes:
    """A worker's part as bytes; taken apart first, since pickling arrays takes five times as long.

    Nothing where there is nothing.
    """
    if not info:
        return b""
    return pickle.dumps([(a.dtype.str, a.shape, a.tobytes()) for a in info.values()])


class JoinedInfo:
    """Puts the workers' parts together, with zeros for the lanes that did not step."""

    def __init__(self, keys: Sequence[str], lanes: Sequence[slice]) -> None:
        """Join these keys.

        Args:
            keys: what every part holds
            lanes: for each worker its lanes
        """
        self._keys = tuple(keys)
        self._lanes = tuple(lanes)
        # Before any step nobody knows the shapes. One number is what most keys hold.
        self._empty: dict[str, NDArray[Any]] = {key: np.zeros(0) for key in self._keys}

    def of_step(self, answers: Mapping[int, Any]) -> dict[str, NDArray[Any]]:
        """The keys as arrays [L, ...].

        Args:
            answers: of each worker that stepped its `packed` info; those of others are no bytes

        Raises:
            WoodshedError: the values of a key have not one shape.
        """
        if not self._keys:
            return {}
        stepped = [worker for worker in range(len(self._lanes)) if _is_part(answers.get(worker))]
        parts = [pickle.loads(answers[worker]) for worker in stepped]
        return {
            key: self._joined(key, stepped, [_array(*part[number]) for part in parts])
            for number, key in enumerate(self._keys)
        }

    def _joined(
        self, key: str, stepped: Sequence[int], parts: Sequence[NDArray[Any]]
    ) -> NDArray[Any]:
        try:
            rows = np.concatenate(parts) if parts else self._empty[key]
        except ValueError:  # of parts with unlike shapes: `numbers` says so
            rows = numbers(key, [value for part in parts for value in part])
        self._empty[key] = rows[:0].copy()
        if len(stepped) == len(self._lanes):
            return rows
        joined = np.zeros((self._lanes[-1].stop, *rows.shape[1:]), rows.dtype)
        for worker, part in zip(stepped, parts, strict=True):
            joined[self._lanes[worker]] = part
        return joined


def _is_part(answer: Any) -> bool:
    return isinstance(answer, bytes)


def _array(dtype: str, shape: tuple[int, ...], data: bytes) -> NDArray[Any]:
    return np.frombuffer(data, dtype).reshape(shape)
