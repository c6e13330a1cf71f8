"""Candidate SQL texts of a column of Spark Connect, from the plan that its client sends.

The message `Expression` of Spark Connect names functions, types and literals; only which side of a merge a
column is of may be open. `column_sql` tells what decides.
"""

import datetime
from collections.abc import Callable
from typing import Any

from deltaarrow.spark.tables.column_forms import (
    Qualify,
    attribute,
    call,
    casted,
    chosen,
    extracted,
    lambda_of,
)
from deltaarrow.sql.create_text import text_literal

__all__ = ["connect_texts"]

_TRIES = 3
"""The mode of a cast that gives NULL for what cannot be cast."""

_EPOCH = datetime.datetime(1970, 1, 1)


def connect_texts(plan: Any, qualify: Qualify, names_of: Callable[[str], list[str] | None]) -> list[str]:
    """Return candidate texts of SQL for the plan of a column, the likely one first; none if it has no text.

    Args:
        plan: the message ``spark.connect.Expression``.
        qualify: the texts of a name of a column.
        names_of: the parts of such a name; None for what cannot be one.
    """
    return _Plan(qualify, names_of).texts(plan)


class _Plan:
    def __init__(self, qualify: Qualify, names_of: Callable[[str], list[str] | None]) -> None:
        self._qualify, self._names_of = qualify, names_of

    def texts(self, plan: Any) -> list[str]:
        kind = plan.WhichOneof("expr_type")
        read = getattr(self, f"_{kind}", None)
        return [] if read is None else list(read(getattr(plan, kind)))

    def _literal(self, literal: Any) -> list[str]:
        kind = literal.WhichOneof("literal_type")
        value = getattr(literal, kind)
        match kind:
            case "null":
                return ["NULL"]
            case "boolean":
                return ["true" if value else "false"]
            case "byte":
                return [f"{value}Y"]
            case "short":
                return [f"{value}S"]
            case "integer":
                return [str(value)]
            case "long":
                return [f"{value}L"]
            case "double" if value == value and abs(value) != float("inf"):
                return [f"{value!r}D"]
            case "float" | "double":
                return [f"CAST('{value!r}' AS {kind.upper()})"]
            case "decimal":
                return [f"{value.value}BD"]
            case "string":
                return [text_literal(value)]
            case "date":
                return [chosen(str((_EPOCH + datetime.timedelta(days=value)).date()), "DATE")]
            case "timestamp_ntz":
                return [chosen(str(_EPOCH + datetime.timedelta(microseconds=value)), "TIMESTAMP_NTZ")]
            case "timestamp":
                time = f"{_EPOCH + datetime.timedelta(microseconds=value)}+00:00"
                return [chosen(time, "TIMESTAMP")]
            case "binary":
                return [f"X'{value.hex()}'"]
        return []

    def _unresolved_attribute(self, column: Any) -> list[str]:
        names = self._names_of(column.unparsed_identifier)
        return [] if names is None else attribute(names, self._qualify)

    def _unresolved_function(self, function: Any) -> list[str]:
        arguments = [self.texts(each) for each in function.arguments]
        return call(function.function_name, arguments, is_distinct=function.is_distinct)

    def _call_function(self, function: Any) -> list[str]:
        return call(function.function_name, [self.texts(each) for each in function.arguments])

    def _expression_string(self, text: Any) -> list[str]:
        return [f"({text.expression})"]

    def _alias(self, alias: Any) -> list[str]:
        return self.texts(alias.expr)

    def _cast(self, cast: Any) -> list[str]:
        if cast.WhichOneof("cast_to_type") == "type":
            from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

            type_name = proto_schema_to_pyspark_data_type(cast.type).simpleString()
        else:
            type_name = cast.type_str
        return casted(self.texts(cast.expr), type_name, tries=cast.eval_mode == _TRIES)

    def _unresolved_extract_value(self, part: Any) -> list[str]:
        return extracted(self.texts(part.child), self.texts(part.extraction))

    def _lambda_function(self, function: Any) -> list[str]:
        names = [".".join(each.name_parts) for each in function.arguments]
        return lambda_of(names, self.texts(function.function))

    def _unresolved_named_lambda_variable(self, variable: Any) -> list[str]:
        return [".".join(variable.name_parts)]
