"""Small data files with the statistics that known writers write for them, and predicates over them.

A simple model for tests of file skipping, written independently of the package. It has three writers: Spark
4; Spark before it cut strings correctly (its maxima end in U+FFFD, and half a character may become ``?``);
and one that converts its statistics from Parquet through doubles, as delta-rs does (no NaN, rounded
decimals).
"""

import datetime as dt
import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from deltaarrow.expressions import (
    NULL,
    And,
    Cast,
    Column,
    Compare,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from deltaarrow.schema import Field, Schema, StructType

__all__ = ["PARTITION_COLUMNS", "SCHEMA", "VALUES", "DataFile", "data_file", "leaf_predicates", "predicates"]

UTC = dt.UTC
WRITERS = ("spark", "old spark", "parquet")
PARTITION_COLUMNS = ("p", "q", "r", "t")

SCHEMA = Schema(
    [
        Field("tiny", "byte"),
        Field("small", "short"),
        Field("i", "integer"),
        Field("l", "long"),
        Field("f", "float"),
        # A column that was a float in some files.
        Field("d", "double", metadata={"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}),
        Field("c", "decimal(38,10)"),
        Field("money", "decimal(10,2)"),
        Field("whole", "decimal(38,0)"),
        Field("s", "string"),
        Field("day", "date"),
        Field("ts", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("b", "boolean"),
        Field("x", "binary"),
        Field("odd / ~'\"name.", "long"),
        Field("st", StructType([Field("a", "long"), Field("s", "string")])),
        Field("p", "string"),
        Field("q", "date"),
        Field("r", "double"),
        Field("t", "timestamp"),
    ]
)

_INTEGERS = [0, 1, -1, 2, 7, -(2**31), 2**31 - 1]
_LONGS = [*_INTEGERS, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
_DOUBLES = [0.0, -0.0, 0.1, -0.1, float(np.float32(0.1)), 1.5, 7.0, 1e300, math.inf, -math.inf, math.nan]
_FLOATS = [float(np.float32(each)) for each in _DOUBLES if abs(each) < 1e38 or not math.isfinite(each)]
_WIDE = [Decimal(t) for t in ("0", "0.1", "-0.1", "1.0000000001", "7", "1234567890123456789.0000000001")]
_DECIMALS = [*_WIDE, -_WIDE[-1], _WIDE[-1] + 1, Decimal("0.0000000001")]
_MONEY = [Decimal("0.00"), Decimal("0.10"), Decimal("1.50"), Decimal("-99999999.99"), Decimal("99999999.99")]
_WHOLE = [Decimal(n) for n in (0, 1, -1, 2**53 + 1, 10**37, 10**38 - 1, 10**38 - 2, -(10**38) + 1)]
_STRINGS = [
    *("", "a", "b", "ab", "é", "\x7f", "\ufffd", "\U0001f600", "\U0010ffff", "a" * 31, "a" * 32, "a" * 33),
    *("a" * 32 + tail for tail in ("\x7f", "b", "\ufffd", "\U0001f600", "\U0010ffff" * 40, "é")),
    *("a" * 31 + tail for tail in ("\U0001f600b", "\U0001f600", "\U0010ffffz", "\ud7ffz", "?z", "?")),
    "\U0010ffff" * 70,
]
_DAYS = [
    dt.date(1, 1, 1),
    dt.date(1969, 12, 31),
    dt.date(2020, 1, 31),
    dt.date(2020, 2, 1),
    dt.date(9999, 12, 31),
]
_TIMES = [
    dt.datetime(1880, 1, 1, 12, 30, 30, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    *(dt.datetime(2020, 1, 31, 0, 0, 0, us) for us in (0, 1, 999, 1000, 1001, 500_000)),
    dt.datetime(2020, 2, 1),
]
_INSTANTS = [each.replace(tzinfo=UTC) for each in _TIMES]

VALUES: dict[tuple[str, ...], list[Any]] = {
    ("tiny",): [0, 1, -1, 127, -128],
    ("small",): [0, 1, -1, 128, 2**15 - 1, -(2**15)],
    ("i",): _INTEGERS,
    ("l",): _LONGS,
    ("f",): _FLOATS,
    ("d",): _DOUBLES,
    ("c",): _DECIMALS,
    ("money",): _MONEY,
    ("whole",): _WHOLE,
    ("s",): _STRINGS,
    ("day",): _DAYS,
    ("ts",): _INSTANTS,
    ("ntz",): _TIMES,
    ("b",): [True, False],
    ("x",): [b"", b"\x00", b"\xff"],
    ("odd / ~'\"name.",): _LONGS,
    ("st", "a"): _LONGS,
    ("st", "s"): _STRINGS,
    ("p",): ["a", "b", "é'", "\U0001f600"],
    ("q",): _DAYS,
    ("r",): [0.1, -0.0, 1.5, math.nan, math.inf],
    ("t",): _INSTANTS,
}
"""The values that rows and literals are drawn from, few, so that they meet."""


@dataclass
class DataFile:
    """A file: the rows that are not deleted, in the table's types, and what the log says of it."""

    rows: pa.Table
    stats: str | None
    partition_values: dict[str, str | None]


def data_file(random: Random, wanted: Collection[tuple[str, ...]]) -> DataFile:
    """A file of at most four rows with values in the wanted columns; the others are NULL."""
    writer = random.choice(WRITERS)
    number = random.choice([0, 1, 2, 3, 3, 4])
    partition: dict[str, Any] = dict.fromkeys(PARTITION_COLUMNS)
    columns: dict[tuple[str, ...], list[Any]] = {path: [None] * number for path in VALUES}
    for path in wanted:
        if path[0] in partition:
            partition[path[0]] = random.choice([None, *VALUES[path]])
            continue
        # Few different values in a file, and NULLs only in some, or bounds would exclude next to nothing.
        pool = random.choices(VALUES[path], k=random.choice([1, 1, 2]))
        nulls = random.choice([0, 0, 0, 0.3, 1])
        columns[path] = [None if random.random() < nulls else random.choice(pool) for _ in range(number)]
    was_float = random.random() < 0.5
    if was_float:
        # What a float does not hold was not in the file.
        columns[("d",)] = [
            each if each is None or not math.isfinite(each) else float(np.float32(min(each, 1e30)))
            for each in columns[("d",)]
        ]
    no_struct = [random.random() < 0.1 for _ in range(number)]
    for path in (("st", "a"), ("st", "s")):
        columns[path] = [None if gone else each for gone, each in zip(no_struct, columns[path], strict=True)]
    share = random.choice([0, 0, 0.4])
    deleted = [random.random() < share for _ in range(number)]
    stats = _statistics(columns, number, deleted, writer, was_float)
    kind = random.choice(["all"] * 8 + ["part", "none", "broken"])
    if kind == "part":
        del stats[random.choice(sorted(stats))]
    text = {"none": None, "broken": '{"numRecords":'}.get(kind, _json(stats))
    live = [row for row in range(number) if not deleted[row]]
    return DataFile(
        _table(columns, partition, no_struct, number).take(pa.array(live, pa.int64())),
        text,
        {name: _partition_text(value) for name, value in partition.items()},
    )


def _table(
    columns: dict[Any, list[Any]], partition: dict[str, Any], no_struct: list[bool], number: int
) -> pa.Table:
    arrow = SCHEMA.to_arrow()
    data: dict[str, Any] = {path[0]: values for path, values in columns.items() if len(path) == 1}
    data["st"] = [
        None if gone else {"a": a, "s": s}
        for gone, a, s in zip(no_struct, columns[("st", "a")], columns[("st", "s")], strict=True)
    ]
    data |= {name: [value] * number for name, value in partition.items()}
    return pa.table({field.name: pa.array(data[field.name], field.type) for field in arrow})


def _partition_text(value: Any) -> str | None:
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return None if value is None else str(value) if not isinstance(value, float) else repr(value)


def _statistics(
    columns: dict[Any, list[Any]], number: int, deleted: list[bool], writer: str, was_float: bool
) -> dict[str, Any]:
    stats: dict[str, Any] = {"numRecords": number, "minValues": {}, "maxValues": {}, "nullCount": {}}
    if any(deleted):
        stats["tightBounds"] = False
    for path, values in columns.items():
        live = [value for value, gone in zip(values, deleted, strict=True) if not gone]
        nulls = sum(value is None for value in values)
        if any(deleted) and all(value is None for value in live):
            nulls = number
        _put(stats["nullCount"], path, nulls)
        # Where only deleted rows have a value, some writers keep the bounds that the file had with them.
        bounded = live if nulls == number and writer == "parquet" else values
        known = [value for value in bounded if value is not None]
        if path[0] in ("b", "x"):
            continue
        if writer == "parquet":
            known = [value for value in known if not (isinstance(value, float) and math.isnan(value))]
        if known:
            low, high = min(known, key=_order), max(known, key=_order)
            single = path == ("f",) or (path == ("d",) and was_float)
            for name, value, largest in (("minValues", low, False), ("maxValues", high, True)):
                stored = _stored(value, writer, largest, single)
                if stored is not None:
                    _put(stats[name], path, stored)
    return stats


def _order(value: Any) -> Any:
    """Spark's order: NaN after everything."""
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _stored(value: Any, writer: str, largest: bool, single: bool) -> Any:
    if isinstance(value, str):
        return _cut(value, writer, largest)
    if isinstance(value, dt.datetime):
        return _time_text(value, writer)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal) and writer == "parquet":
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return float(str(np.float32(value))) if single else value


def _time_text(value: dt.datetime, writer: str) -> str:
    """Milliseconds, rounded down; Spark's in some zone, of whose offset it writes no seconds."""
    if value.tzinfo is None:
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}".rjust(23, "0")
    offset, shown = dt.timedelta(hours=1), "+01:00"
    if writer == "parquet":
        offset, shown = dt.timedelta(), "Z"
    elif value.year < 1900:
        offset, shown = dt.timedelta(minutes=53, seconds=28), "+00:53"
    local = (value + offset).replace(tzinfo=None)
    return f"{local:%Y-%m-%dT%H:%M:%S}.{local.microsecond // 1000:03}{shown}"


def _cut(text: str, writer: str, largest: bool) -> str | None:
    units = text.encode("utf-16-le")
    if len(units) <= 64:
        return text
    if writer == "parquet":
        # 64 bytes of UTF-8; the maximum has its last character replaced by the next one.
        prefix = text.encode()[:64].decode(errors="ignore")
        if not largest:
            return prefix
        prefix = prefix.rstrip("\U0010ffff")
        return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else None
    if writer == "old spark":
        if not largest:
            return text[:32]
        length = 64
        while int.from_bytes(units[length : length + 2], "little") >= 0xFFFD:
            length += 2
        return (
            units[:length].decode("utf-16-le", "surrogatepass").encode("utf-8", "replace").decode() + "\ufffd"
        )
    prefix = units[:64].decode("utf-16-le", "ignore")
    if len(prefix.encode("utf-16-le")) < 64:
        prefix = units[:66].decode("utf-16-le")
    if not largest:
        return prefix
    for following in text[len(prefix) :]:
        if len(prefix) > 64:
            return None
        if following < "\x7f":
            return prefix + "\x7f"
        if following < "\U0010ffff":
            return prefix + "\U0010ffff"
        prefix += following
    return text


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _json(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(item)}" for key, item in value.items()) + "}"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


# Literals of another kind than the column, with which it can be compared all the same.
_NUMBERS = [2.5, Decimal("2.5"), 2, -1, 2**40, 0.1, Decimal("0.1"), math.inf, math.nan]
_ALSO: dict[str, list[Any]] = {
    "tiny": [*_NUMBERS, 128],
    "small": [*_NUMBERS, 2**15],
    "i": _NUMBERS,
    "l": [*_NUMBERS, float(2**53), 1e300],
    "f": _NUMBERS,
    "d": _NUMBERS,
    "c": [1, 0.1, Decimal("0.00000000001")],
    "money": [1, 0.1, Decimal("0.105"), Decimal("1e20")],
    "whole": [1, 1e37, 2**60],
    "day": ["2020-01-31", dt.datetime(2020, 1, 31, 12)],
    "ts": ["2020-01-31", "2020-01-31 01:00:00.0005+01:00"],
    "ntz": ["2020-01-31", dt.date(2020, 2, 1)],
    "q": ["2020-02-01"],
    "r": [1, Decimal("0.1")],
}


def leaf_predicates(path: tuple[str, ...]) -> list[Predicate]:
    """Every condition on one column that the values and literals of this module make."""
    column = Column(path)
    values = [*VALUES[path], *_ALSO.get(path[0], [])]
    found: list[Predicate] = [IsNull(column)]
    for value in (*values, None):
        literal = Literal(value)
        found += [Compare(op, column, literal) for op in ("=", "!=", "<", "<=", ">", ">=")]
    found += [IsIn(column, (value,)) for value in values]
    found += [IsIn(column, pair) for pair in zip(values, reversed(values), strict=True)]
    found.append(IsIn(column, tuple(values)))
    if path[-1] in ("s", "p"):
        prefixes = {value[:length] for value in values for length in (0, 1, 31, 33)}
        found += [StartsWith(column, prefix) for prefix in sorted(prefixes)]
    if path[0] in ("f", "d", "r"):
        found.append(IsNan(column))
    if path[0] in ("i", "l"):
        found += [
            Compare("<", Cast(column, pa.int64()), Literal(value, pa.int64())) for value in VALUES[path]
        ]
    return [*found, *map(Not, found)]


@st.composite
def _leaves(draw: st.DrawFn) -> Predicate:
    constants = [Constant(True), Constant(False), NULL, Compare("<", Column(("i",)), Column(("l",)))]
    path = draw(st.sampled_from(list(VALUES)))
    return draw(st.sampled_from([*leaf_predicates(path), *constants]))


def predicates() -> st.SearchStrategy[Predicate]:
    """Predicate trees over `SCHEMA`, not yet bound to it."""
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(tuple).map(And),
            st.lists(inner, min_size=1, max_size=3).map(tuple).map(Or),
            inner.map(Not),
        ),
        max_leaves=4,
    )
