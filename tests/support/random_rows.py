"""Small random tables of odd values, with the columns over which the expressions of functions are listed."""

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

__all__ = ["TYPES", "random_tables"]

TYPES: dict[str, pa.DataType] = {
    "r": pa.int32(),
    "b": pa.int8(),
    "h": pa.int16(),
    "i": pa.int32(),
    "j": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "e": pa.float64(),
    "m": pa.decimal128(10, 2),
    "n": pa.decimal128(5, 3),
    "w": pa.decimal128(38, 18),
    "s": pa.string(),
    "t": pa.string(),
    "x": pa.string(),
    "dt": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "z": pa.timestamp("us"),
    "o": pa.bool_(),
    "p": pa.bool_(),
    "bin": pa.binary(),
    "a": pa.list_(pa.int32()),
    "sa": pa.list_(pa.string()),
    "st": pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))]),
    "mp": pa.map_(pa.string(), pa.int32()),
}
"""The type of each column."""

_FULL = {"b": 7, "h": 15, "i": 31, "l": 63}
_DECIMALS = ("m", "n", "w")


def random_tables(seed: int) -> dict[str, pa.Table]:
    """Three tables of a few rows; in every third seed some values are at the ends of their types."""
    rng = random.Random(seed)
    is_wild = seed % 3 == 0
    found = {}
    for name in ("r0", "r1", "r2"):
        rows = rng.choice([0, 1, 4, 6, 9])
        columns = {
            column: pa.array([_value(rng, column, is_wild) for _ in range(rows)], data_type)
            for column, data_type in TYPES.items()
        }
        columns["r"] = pa.array(range(rows), pa.int32())
        found[name] = pa.table(columns)
    return found


def _value(rng: random.Random, column: str, is_wild: bool) -> Any:
    if rng.random() < 0.15:
        return None
    usual, extreme = _VALUES[column]
    return rng.choice([*usual, *extreme] if is_wild else usual)


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _values() -> dict[str, tuple[list[Any], list[Any]]]:
    """Usual and extreme values by column."""
    whole = [0, 1, 2, 3, -1, 7]
    floating = [0.0, -0.0, 1.0, 2.5, -1.0, 0.25, float("nan")]
    infinite = [float("inf"), float("-inf"), 1e30, 0.1]
    texts = ["", "a", "b", "A", "a ", "añ👍é", "%", "2", "ab", "2024-02-29", "a,b", " 1.5"]
    times = [
        "2020-02-29T12:00:00.000001",
        "1970-01-01T00:00:00",
        "2021-01-01T00:00:00",
        "1969-12-31T23:59:59.9",
    ]
    far = ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1582-10-10T00:00:00"]
    found: dict[str, tuple[list[Any], list[Any]]] = {
        **{name: (whole, [2**bits - 1, -(2**bits)]) for name, bits in _FULL.items()},
        "r": (whole, []),
        "j": (whole, [2**31 - 1, 5, -3]),
        **dict.fromkeys(("f", "d", "e"), (floating, infinite)),
        **{name: (texts, ["\n", "\\", "'", "x" * 40]) for name in ("s", "t", "x")},
        "dt": ([_time(each).date() for each in times], [_time(each).date() for each in far]),
        "z": ([_time(each) for each in times], [_time(each) for each in far]),
        **{name: ([True, False], []) for name in ("o", "p")},
        "bin": ([b"", b"a", b"ab", b"\xc3\xa9"], [b"\xff", b"\0"]),
        "a": ([[], [1, 2, None], [3], [2, 2, 0]], [[2**31 - 1], [None]]),
        "sa": ([[], ["a", None], ["b"], [""]], [["añ👍é", "%"]]),
        "st": ([{"a": 1, "b": {"c": "z"}}, {"a": None, "b": {"c": None}}, {"a": 2, "b": None}], []),
        "mp": ([[("k", 1), ("l", None)], [], [("k", 5)]], [[("", 0)]]),
    }
    for name in _DECIMALS:
        digits = TYPES[name]
        unit = Decimal(1).scaleb(-digits.scale)
        most = Decimal((0, (9,) * digits.precision, -digits.scale))
        usual = [Decimal(each).quantize(unit) for each in ("0", "1", "2.5", "-1.05", "7")]
        found[name] = (usual, [most, most.copy_negate(), unit])
    found["ts"] = tuple([each.replace(tzinfo=datetime.UTC) for each in part] for part in found["z"])  # type: ignore[assignment]
    return found


_VALUES = _values()
