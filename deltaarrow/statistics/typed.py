"""Typed statistics of checkpoints, ``stats_parsed``, as DuckDB SQL over the rows of a checkpoint.

Chapter "Checkpoint Schema" of PROTOCOL.md. The struct has delta-spark's fields and types: the columns that
the table's properties select for statistics, under physical names. A value that does not fit its column's
type is NULL, which proves nothing.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.partitions import duckdb_type
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import Field, PrimitiveType, StructType, to_arrow_type
from deltaarrow.statistics.bounds import FileStatisticsSql, written_value
from deltaarrow.statistics.column_selection import StatisticsColumn, readable_columns, statistics_columns

__all__ = ["TypedStatistics"]

# Java's texts of these types need special parsing, so that no bound is shifted by a time zone.
_READ_AS_TEXT = ("date", "timestamp", "timestamp_ntz")

_EPOCH = date(1970, 1, 1).toordinal()
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")

_Path = tuple[str, ...]


@dataclass(frozen=True)
class TypedStatistics:
    """The typed statistics of a table.

    Attributes:
        columns: the columns with statistics.
        has_tight_bounds: whether ``tightBounds`` is a field, as in tables that may have deletion vectors.
    """

    columns: tuple[StatisticsColumn, ...]
    has_tight_bounds: bool

    @classmethod
    def of(
        cls,
        schema: StructType,
        partition_columns: Collection[str],
        configuration: Mapping[str, str],
        mapping_mode: str,
        *,
        has_tight_bounds: bool,
    ) -> "TypedStatistics":
        """Return the typed statistics of a table; arguments as for `statistics_columns`."""
        columns = statistics_columns(schema, partition_columns, configuration, mapping_mode)
        return cls(readable_columns(columns), has_tight_bounds)

    @cached_property
    def _leaves(self) -> Sequence[tuple[_Path, Field]]:
        """Return every leaf path of the struct in order, with a field of its type."""
        bounded = [column for column in self.columns if column.has_bounds]
        leaves: list[tuple[_Path, Field]] = [(("numRecords",), Field("numRecords", "long"))]
        for name in ("minValues", "maxValues"):
            leaves += [((name, *each.path), Field(each.path[-1], each.type)) for each in bounded]
        leaves += [(("nullCount", *each.path), Field(each.path[-1], "long")) for each in self.columns]
        if self.has_tight_bounds:
            leaves.append((("tightBounds",), Field("tightBounds", "boolean")))
        return leaves

    @cached_property
    def type(self) -> pa.StructType:
        """The Arrow type of the struct."""
        tree = _tree([(path, to_arrow_type(field.type)) for path, field in self._leaves])
        struct = _arrow_struct(tree)
        assert pa.types.is_struct(struct)
        return struct

    def raw(self, stats: str) -> str:
        """Return the SQL that parses a JSON text to a struct for `from_raw`."""
        structure = _tree([(path, _read_type(field)) for path, field in self._leaves])
        return f"TRY(from_json({stats}, {quote_literal(json.dumps(structure))}))"

    def from_raw(self, raw: str) -> str:
        """Return the SQL of the typed struct, given that of the result of `raw`, preferably a column."""
        if not any(_is_read_as_text(field) for _, field in self._leaves):
            return raw
        return _struct_sql(_tree([(path, field) for path, field in self._leaves]), raw)

    def from_texts(self, texts: Sequence[str | None]) -> pa.Array | None:
        """Parse a few JSON texts in Python, without preparing a query.

        Returns None if DuckDB is needed: for a type without a plain JSON form, or a text with other values.
        """
        tree = _tree([(path, to_arrow_type(field.type)) for path, field in self._leaves])
        try:
            return _plain_array([None if text is None else _plain_json(text) for text in texts], tree)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None

    def from_struct(self, parsed: str, found: pa.DataType) -> str:
        """Return the SQL of the struct, given the SQL and type of another checkpoint's struct."""
        if found.equals(self.type):
            return parsed
        other = FileStatisticsSql(None, parsed, found)
        members = _tree([(path, _typed_leaf(other, path, field)) for path, field in self._leaves])
        return f"CASE WHEN {parsed} IS NOT NULL THEN {_pack(members)} END"


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a JSON object has a member twice")
    return dict(pairs)


def _plain_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, object_pairs_hook=_unique_members, parse_constant=refuse)


def _plain_array(values: list[Any], tree: Any) -> pa.Array:
    if not isinstance(tree, dict):
        return _plain_leaf(values, tree)
    if not {*map(type, values)} <= {dict, NoneType}:
        raise TypeError("a member of the statistics is not a JSON object")
    arrays = [
        _plain_array([None if value is None else value.get(name) for value in values], inner)
        for name, inner in tree.items()
    ]
    mask = [value is None for value in values]
    fields = [pa.field(name, array.type) for name, array in zip(tree, arrays, strict=True)]
    if not any(mask):
        return pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=build_array(mask, pa.bool_()))


def _plain_leaf(values: list[Any], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_date32(data_type):
        days = [None if value is None else _days(value) for value in values]
        return build_array(days, pa.int32()).view(data_type)
    if pa.types.is_float64(data_type):
        return _doubles(values)
    if pa.types.is_string(data_type) or pa.types.is_integer(data_type) or pa.types.is_boolean(data_type):
        return build_array(values, data_type)
    raise TypeError(f"values of {data_type} have no plain form in JSON")


def _doubles(values: list[Any]) -> pa.Array:
    if not {*map(type, values)} <= {float, int, NoneType}:
        raise TypeError("a value is not a number")
    missing = [value is None for value in values]
    data = np.array([0.0 if value is None else float(value) for value in values])
    validity = build_array([not each for each in missing], pa.bool_()).buffers()[1] if any(missing) else None
    return pa.Array.from_buffers(pa.float64(), len(values), [validity, pa.py_buffer(data)])


def _days(text: str) -> int:
    if not _DATE.fullmatch(text):
        raise ValueError(f"not a plain date: {text!r}")
    return date.fromisoformat(text).toordinal() - _EPOCH


def _is_read_as_text(field: Field) -> bool:
    return isinstance(field.type, PrimitiveType) and field.type.type in _READ_AS_TEXT


def _sql_type(field: Field) -> str:
    assert isinstance(field.type, PrimitiveType)
    return duckdb_type(field.type)


def _read_type(field: Field) -> str:
    return "VARCHAR" if _is_read_as_text(field) else _sql_type(field)


def _typed_leaf(statistics: FileStatisticsSql, path: _Path, field: Field) -> str:
    found = statistics.parsed_type
    if path == ("tightBounds",):
        has_it = found is not None and found.get_field_index("tightBounds") >= 0
        typed = f"struct_extract({statistics.parsed}, 'tightBounds')" if has_it else None
    else:
        typed = statistics.typed(path, field)
    return f"TRY_CAST({typed or 'NULL'} AS {_sql_type(field)})"


def _tree(leaves: Sequence[tuple[_Path, Any]]) -> dict[str, Any]:
    """Nest leaves by their paths, with members in the order of first occurrence."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves:
        inner = tree
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = leaf
    return tree


def _arrow_struct(tree: Any) -> pa.DataType:
    if not isinstance(tree, dict):
        return tree
    return pa.struct([(name, _arrow_struct(inner)) for name, inner in tree.items()])


def _struct_sql(tree: Any, sql: str) -> str:
    """Return the SQL of a struct that changes only members read as text; unchanged members plan faster."""
    if isinstance(tree, Field):
        return f"({written_value(tree, sql)})::{_sql_type(tree)}" if _is_read_as_text(tree) else sql
    members = {name: f"struct_extract({sql}, {quote_literal(name)})" for name in tree}
    changed = {
        name: found
        for name, inner in tree.items()
        if (found := _struct_sql(inner, members[name])) != members[name]
    }
    if not changed:
        return sql
    listed = ", ".join(f"{quote_identifier(name)} := {found}" for name, found in changed.items())
    return f"CASE WHEN {sql} IS NOT NULL THEN struct_update({sql}, {listed}) END"


def _pack(tree: Any) -> str:
    if not isinstance(tree, dict):
        return str(tree)
    return (
        f"struct_pack({', '.join(f'{quote_identifier(n)} := {_pack(inner)}' for n, inner in tree.items())})"
    )
