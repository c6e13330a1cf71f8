"""Spark's random numbers of a seed: XORShift generators, as functions of the row that DuckDB can call.

The generator of a partition begins with the hash of its seed. Each row takes the next number, so the number
of a row depends on the rows before it alone. Blocks of numbers are computed from the state before them.

A step of a generator is linear in the bits of its state. So the states after a block's steps are those from
single bits, joined by XOR for the bits that are set.
"""

import bisect
import functools
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.spark_sql.tree.kernel_calls import RANDOM, Kernel

__all__ = ["RANDOM_KERNELS"]

_WORD = (1 << 32) - 1
_HASH_SEED = 0x3C074A61
_DRAWN = 1 << 12
"""The uniform numbers that a block is computed from."""

_Block: TypeAlias = Callable[[int], tuple[np.ndarray, int]]
"""Computes numbers from a state, and the state behind them."""


def _hashed(data: bytes, seed: int) -> int:
    """MurmurHash3 of whole words in 32 bits."""
    found = seed
    for (word,) in struct.iter_unpack("<I", data):
        mixed = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
        found = (_rotated(found ^ mixed, 13) * 5 + 0xE6546B64) & _WORD
    found ^= len(data)
    found = (found ^ found >> 16) * 0x85EBCA6B & _WORD
    found = (found ^ found >> 13) * 0xC2B2AE35 & _WORD
    return found ^ found >> 16


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _seeded(seed: int) -> int:
    """The first state of a generator."""
    data = struct.pack(">q", seed)
    low = _hashed(data, _HASH_SEED)
    return _hashed(data, low) << 32 | low


def _stepped(states: np.ndarray) -> np.ndarray:
    found: np.ndarray = states ^ states << np.uint64(21)
    found ^= found >> np.uint64(35)
    found ^= found << np.uint64(4)
    return found


@functools.cache
def _from_bits() -> np.ndarray:
    """The states before each number of a block, from each single bit; a number takes two steps."""
    states = np.uint64(1) << np.arange(64, dtype=np.uint64)
    found = np.empty((64, _DRAWN), np.uint64)
    for place in range(_DRAWN):
        found[:, place] = states
        states = _stepped(_stepped(states))
    return found


def _uniforms(state: int) -> tuple[np.ndarray, int]:
    """Numbers from 0 to 1."""
    bits = [place for place in range(64) if state >> place & 1]
    first = _stepped(np.bitwise_xor.reduce(_from_bits()[bits], axis=0))
    second = _stepped(first)
    high, low = first & np.uint64((1 << 26) - 1), second & np.uint64((1 << 27) - 1)
    return ((high << np.uint64(27)) + low) * 2.0**-53, int(second[-1])


def _normals(state: int) -> tuple[np.ndarray, int]:
    """Numbers of the standard normal distribution, in pairs by Marsaglia's polar method."""
    numbers, state = _uniforms(state)
    pairs = (2 * numbers - 1).reshape(-1, 2)
    squares = pairs[:, 0] * pairs[:, 0] + pairs[:, 1] * pairs[:, 1]
    inside = (squares < 1) & (squares != 0)
    squares = squares[inside]
    factors = np.sqrt(-2 * _logarithms(squares) / squares)
    return (pairs[inside] * factors[:, np.newaxis]).reshape(-1), state


_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2, as the sum of a number with few bits and a small one."""

_SERIES = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01),
    *(1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01),
)


def _logarithms(numbers: np.ndarray) -> np.ndarray:
    """Natural logarithms of numbers from 0 to 1, with each digit of Java's StrictMath, which is fdlibm's."""
    mantissas, exponents = np.frexp(numbers)
    high = (mantissas.view(np.int64) >> 32) & 0xFFFFF
    is_low = high + 0x95F64 < 0x100000
    f = np.where(is_low, 2 * mantissas, mantissas) - 1
    k = np.where(is_low, exponents - 1, exponents).astype(np.float64)
    s = f / (2 + f)
    z = s * s
    w = z * z
    c = _SERIES
    even = w * (c[1] + w * (c[3] + w * c[5]))
    rest = z * (c[0] + w * (c[2] + w * (c[4] + w * c[6]))) + even
    half = 0.5 * f * f
    middle = (high - 0x6147A | 0x6B851 - high) > 0
    near = np.where(middle, half - (s * (half + rest) + k * _LN2[1]), s * (f - rest) - k * _LN2[1])
    short = f * f * (0.5 - 0.33333333333333333 * f) - k * _LN2[1]
    near = np.where(np.abs(f) < 2.0**-20, short, near)
    found: np.ndarray = k * _LN2[0] - (near - f)
    return found


class _Numbers:
    """The numbers of one seed by their rows; several threads may ask for some."""

    def __init__(self, block: _Block, seed: int) -> None:
        self._block = block
        self._states, self._starts = [_seeded(seed)], [0]
        self._known: tuple[int, np.ndarray] = (-1, np.empty(0))
        self._lock = Lock()

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The numbers of some rows."""
        found = np.empty(len(rows))
        with self._lock:
            left, place = len(rows), bisect.bisect_right(self._starts, int(rows.min())) - 1
            while left:
                start, numbers = self._starts[place], self._of_block(place)
                inside = (rows >= start) & (rows < start + len(numbers))
                found[inside] = numbers[rows[inside] - start]
                left -= int(np.count_nonzero(inside))
                place += 1
        return found

    def _of_block(self, place: int) -> np.ndarray:
        if self._known[0] != place:
            numbers, state = self._block(self._states[place])
            if place + 1 == len(self._starts):
                self._states[place + 1 :] = [state]
                self._starts.append(self._starts[place] + len(numbers))
            self._known = place, numbers
        return self._known[1]


@functools.lru_cache(maxsize=64)
def _numbers(block: _Block, seed: int) -> _Numbers:
    return _Numbers(block, seed)


def _kernel(block: _Block) -> Callable[[Any, Any], pa.Array]:
    def compute(rows: Any, seeds: Any) -> pa.Array:
        if not len(rows):
            return pa.array([], pa.float64())
        return pa.array(_numbers(block, seeds[0].as_py()).at(numbers_of(rows)))

    return compute


RANDOM_KERNELS = {
    f"{RANDOM}{name}": Kernel(_kernel(block), ("BIGINT", "BIGINT"), "DOUBLE")
    for name, block in (("rand", _uniforms), ("randn", _normals))
}
"""Each function with the types of its arguments, a row and a seed, and of its result."""
