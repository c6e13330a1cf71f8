"""Values of parameters in statements of DuckDB's dialect, bound as variables of the connection.

A statement that changes a Delta table becomes several queries, each with some of its parameters. A variable
is a value too, whatever it contains, and each query may read it.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb

from deltaarrow.columnar.numpy_arrays import ensure_microseconds
from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.engines import Parameters
from deltaarrow.spark_sql import tokenize_duckdb

__all__ = ["bound"]

_VARIABLE = "__deltaarrow:parameter"


@contextlib.contextmanager
def bound(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: Parameters
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a statement whose parameters are variables, and their values, while the block runs.

    Raises `ValueError` for a parameter without a value, for a value without a parameter, and for a time with
    digits below microseconds, which DuckDB would cut off.
    """
    edits: list[tuple[int, int, str]] = []
    names: dict[str, str] = {}
    tokens, place, counted = tokenize_duckdb(text), 0, 0
    while place < len(tokens):
        token, place = tokens[place], place + 1
        if token.token_type.name not in ("PLACEHOLDER", "PARAMETER"):
            continue
        end, name = token.end + 1, ""
        kinds = ("NUMBER",) if token.text == "?" else ("NUMBER", "VAR")
        is_named = place < len(tokens) and tokens[place].start == end
        if is_named and tokens[place].token_type.name in kinds:
            name, end, place = tokens[place].text, tokens[place].end + 1, place + 1
        if not name:
            counted += 1
            name = str(counted)
        variable = names.setdefault(name, f"{_VARIABLE} {len(names)}")
        edits.append((token.start, end, f"getvariable({quote_literal(variable)})"))
    values = _values(parameters)
    if {*values} != {*names}:
        raise ValueError(
            f"the statement has the parameters {sorted(names)}, and there are values for {sorted(values)}"
        )
    ensure_microseconds(values)
    try:
        for name, variable in names.items():
            connection.execute(f"SET VARIABLE {quote_identifier(variable)} = ?", [values[name]])
        for start, end, sql in reversed(edits):
            text = text[:start] + sql + text[end:]
        yield text, {variable: values[name] for name, variable in names.items()}
    finally:
        for variable in names.values():
            connection.execute(f"RESET VARIABLE {quote_identifier(variable)}")


def _values(parameters: Parameters) -> dict[str, Any]:
    if isinstance(parameters, Mapping):
        return {str(name): value for name, value in parameters.items()}
    return {str(place + 1): value for place, value in enumerate(parameters)}
