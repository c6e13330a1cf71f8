"""JSON text of statistics that a checkpoint has only as a struct, as DuckDB SQL.

Implements *Per-file Statistics* of PROTOCOL.md for ``stats_parsed``. Values are spelled as writers spell
them, because the text is written again when rows of the file are deleted. DuckDB alone would write NaN and
infinities as invalid JSON, and times without a zone, which other readers take for local times.
"""

from collections import Counter

import pyarrow as pa

from deltaarrow.compute import quote_identifier, quote_literal

__all__ = ["struct_text_sql"]

_TIME = "%Y-%m-%dT%H:%M:%S.%f"


def struct_text_sql(parsed: str, parsed_type: pa.DataType) -> str:
    """Return the SQL of the JSON text, given the SQL and Arrow type of the struct; NULL stays NULL.

    >>> print(struct_text_sql("s", pa.struct([("numRecords", pa.int64())])))
    to_json(s)::VARCHAR
    """
    return f"to_json({_spelled(parsed, parsed_type)})::VARCHAR"


def _spelled(sql: str, found: pa.DataType) -> str:
    """Return the SQL of a value that `to_json` renders correctly; unchanged values are cheaper to plan."""
    types = pa.types
    if types.is_struct(found):
        return _spelled_struct(sql, found)
    if types.is_floating(found):
        words = f"WHEN isnan({sql}) THEN 'NaN' WHEN {sql} > 0 THEN 'Infinity' ELSE '-Infinity' END"
        return (
            f"CASE WHEN {sql} IS NULL OR isfinite({sql}) THEN to_json({sql}) ELSE to_json(CASE {words}) END"
        )
    if types.is_timestamp(found):
        # Nanoseconds without a zone are INT96, which is UTC.
        if found.tz is None:
            return f"strftime({sql}, '{_TIME}{'Z' if found.unit == 'ns' else ''}')"
        return f"strftime(timezone('UTC', {sql}), '{_TIME}Z')"
    return sql


def _spelled_struct(sql: str, found: pa.StructType) -> str:
    # DuckDB's names are case-insensitive.
    alike = Counter(field.name.casefold() for field in found)
    members = {
        field.name: (f"struct_extract({sql}, {quote_literal(field.name)})", field.type)
        for field in found
        if alike[field.name.casefold()] == 1
    }
    changed = {
        name: spelled
        for name, (member, member_type) in members.items()
        if (spelled := _spelled(member, member_type)) != member
    }
    if not changed:
        return sql
    listed = ", ".join(f"{quote_identifier(name)} := {spelled}" for name, spelled in changed.items())
    return f"CASE WHEN {sql} IS NOT NULL THEN struct_update({sql}, {listed}) END"
