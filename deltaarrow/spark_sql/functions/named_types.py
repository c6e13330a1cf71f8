"""Types that the text of an expression names: in a cast, or as a function that casts."""

from typing import TYPE_CHECKING

from deltaarrow.schema import ArrayType, DataType, Field, IntervalType, MapType, StructType
from deltaarrow.spark_sql.functions.interval_literals import interval_units
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    decimal_type,
    sql_type,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["CAST_FUNCTIONS", "data_type_of"]

_TYPES: dict[str, DataType] = {
    "TINYINT": BYTE,
    "SMALLINT": SHORT,
    "INT": INTEGER,
    "BIGINT": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "BINARY": BINARY,
    "BOOLEAN": BOOLEAN,
    "DATE": DATE,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
    "VARIANT": VARIANT,
}

CAST_FUNCTIONS: dict[str, DataType] = {
    "boolean": BOOLEAN,
    "tinyint": BYTE,
    "smallint": SHORT,
    "int": INTEGER,
    "bigint": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "decimal": decimal_type(10, 0),
    "date": DATE,
    "timestamp": TIMESTAMP,
    "binary": BINARY,
    "string": STRING,
}
"""The names of types that can be called as functions to cast."""

_PARTS = frozenset({"this", "expressions", "nested"})


def data_type_of(node: "exp.Expr") -> DataType:
    """The type that a cast names; refused if it is not on the list."""
    name = getattr(node.this, "value", None)
    if node.key == "datatype" and {key for key, part in node.args.items() if part} <= _PARTS:
        parts = node.expressions
        if name == "DECIMAL":
            digits = [int(each.this.this) for each in parts]
            if len(digits) < 3:
                found = decimal_type(*(digits + [10, 0][len(digits) :]))
                sql_type(found)
                return found
        elif name in _TYPES and not parts:
            return _TYPES[name]
        elif name == "ARRAY" and len(parts) == 1:
            return ArrayType(data_type_of(parts[0]))
        elif name == "MAP" and len(parts) == 2:
            return MapType(data_type_of(parts[0]), data_type_of(parts[1]))
        elif name == "STRUCT" and parts and all(each.key == "columndef" for each in parts):
            return StructType([Field(each.name, data_type_of(each.args["kind"])) for each in parts])
        elif getattr(node.this, "key", "") == "interval":
            return _interval_type(node.this.args["unit"])
    raise refused(f"a cast to {str(name).upper()}")


def _interval_type(unit: "exp.Expr") -> DataType:
    if unit.key == "intervalspan":
        first, last = interval_units(unit.this.name, unit.expression.name)
    else:
        first, last = interval_units(unit.name)
    if "YEAR" in (first, last) or "MONTH" in (first, last):
        raise refused(f"a cast to INTERVAL {first if first == last else f'{first} TO {last}'}")
    return IntervalType.of(first.lower(), last.lower())
