"""Space-filling curves: keys by which points that are near each other sort near each other.

A point has one number a column. `z_order` interleaves the bits of the numbers; `hilbert` first turns and
reflects the quadrants on the way, so that the next point on the curve is always a neighbour (J. Skilling,
*Programming the Hilbert curve*, 2004). Keys are 64 bits wide, which divides them among the columns.
"""

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["Curve", "bits_of", "hilbert", "z_order"]

_MOST_BITS = 10
"""Enough for a thousand ranges of a column."""

Curve = Callable[[Sequence[np.ndarray], int], np.ndarray]
"""Takes the numbers of each column and how many bits they have, and returns the keys."""


def bits_of(columns: int) -> int:
    """Return how many bits of a key each of so many columns has; those after the 64th have none."""
    return max(1, min(_MOST_BITS, 64 // columns))


def z_order(numbers: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """Return the keys of points on the Z-order curve.

    Args:
        numbers: an array of unsigned integers for each column, all of one length.
        bits: how many bits the integers have.

    >>> z_order([np.array([0, 0, 1, 1], np.uint16), np.array([0, 1, 0, 1], np.uint16)], 1).tolist()
    [0, 1, 2, 3]
    """
    numbers = numbers[: 64 // bits]
    spread = _spread(bits, len(numbers))
    keys = np.zeros(len(numbers[0]), np.uint64)
    for place, column in enumerate(numbers):
        keys |= spread[column] << np.uint64(len(numbers) - 1 - place)
    return keys


def _spread(bits: int, gap: int) -> np.ndarray:
    """For each number its bits so many places apart, the last one in the last place."""
    all_numbers = np.arange(1 << bits, dtype=np.uint64)
    spread = np.zeros(1 << bits, np.uint64)
    for bit in range(bits):
        spread |= (all_numbers >> np.uint64(bit) & np.uint64(1)) << np.uint64(bit * gap)
    return spread


def hilbert(numbers: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """Return the keys of points on the Hilbert curve; arguments as for `z_order`.

    >>> hilbert([np.array([0, 0, 1, 1], np.uint16), np.array([0, 1, 1, 0], np.uint16)], 1).tolist()
    [0, 1, 2, 3]
    """
    axes = [column.astype(np.uint16) for column in numbers[: 64 // bits]]
    first = axes[0]
    for bit in range(bits - 1, 0, -1):
        below = np.uint16((1 << bit) - 1)
        for axis in axes:
            # Where the bit is set, the lower bits of the first axis are reflected; elsewhere exchanged.
            is_set = axis >> np.uint16(bit) & np.uint16(1)
            reflected = is_set * below
            exchanged = (first ^ axis) & (below ^ reflected)
            first ^= reflected | exchanged
            axis ^= exchanged
    for axis, before in zip(axes[1:], axes[:-1], strict=True):
        axis ^= before
    turned = np.zeros_like(first)
    for bit in range(bits - 1, 0, -1):
        turned ^= (axes[-1] >> np.uint16(bit) & np.uint16(1)) * np.uint16((1 << bit) - 1)
    return z_order([axis ^ turned for axis in axes], bits)
