"""The functions that SQL expressions may call, and their reference tables."""

from collections.abc import Sequence

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.spark_sql.functions import (
    array,
    bitwise,
    conditional,
    constructors,
    csv,
    datetime,
    datetime_parsing,
    datetime_parts,
    encodings,
    hash,
    higher_order,
    interval,
    interval_arithmetic,
    json,
    map,
    math,
    number_patterns,
    predicate,
    regexp,
    string,
    string_formats,
    try_functions,
    url,
    variant,
)
from deltaarrow.spark_sql.functions.aggregate import AGGREGATES, Aggregate
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.functions.generator import GENERATORS, Generator
from deltaarrow.spark_sql.functions.random import VOLATILE_FUNCTIONS
from deltaarrow.spark_sql.functions.window import WINDOW_FUNCTIONS, WindowFunction
from deltaarrow.spark_sql.types.casts import cast_pairs

__all__ = ["CHAPTERS", "OPERATORS", "find_function", "near_functions", "render_function_tables"]

CHAPTERS: dict[str, tuple[Function, ...]] = {
    "Mathematical functions": math.FUNCTIONS,
    "Bitwise functions": bitwise.FUNCTIONS,
    "String functions": (
        *string.FUNCTIONS,
        *string_formats.FUNCTIONS,
        *number_patterns.FUNCTIONS,
        *regexp.FUNCTIONS,
    ),
    "Encoding and URL functions": (*encodings.FUNCTIONS, *url.FUNCTIONS),
    "Date and timestamp functions (in the session time zone, years 1 to 9999)": (
        *datetime.FUNCTIONS,
        *datetime_parsing.FUNCTIONS,
        *datetime_parts.FUNCTIONS,
        *interval_arithmetic.FUNCTIONS,
        *interval.FUNCTIONS,
    ),
    "Conditional functions": conditional.FUNCTIONS,
    "Try functions (NULL where the plain function raises an error)": try_functions.FUNCTIONS,
    "Constructors of arrays, maps and structs": constructors.FUNCTIONS,
    "Array functions": array.FUNCTIONS,
    "Map functions": map.FUNCTIONS,
    "Higher-order functions": higher_order.FUNCTIONS,
    "Variant functions": variant.FUNCTIONS,
    "JSON functions (not in stored expressions)": json.FUNCTIONS,
    "CSV functions (not in stored expressions)": csv.FUNCTIONS,
    "Hash functions": hash.FUNCTIONS,
    "Miscellaneous functions": predicate.FUNCTIONS,
}
"""The functions by group of the reference page; the groups are those of Spark's reference."""

OPERATORS = (
    *("+", "-", "*", "/", "%", "div", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"),
    *("&", "|", "^", "~", "<<", ">>", "AND", "OR", "NOT", "!", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE"),
    *("IS [NOT] NULL", "IS [NOT] TRUE", "IS [NOT] FALSE", "IS [NOT] DISTINCT FROM", "CASE", "CAST"),
    *("TRY_CAST", "::", "EXTRACT", "INTERVAL", "value -> value", "array[index]", "(value, ...)"),
    *("map[key]", "struct.field"),
)
"""The operators, as the reference page lists them."""

_BY_NAME = {
    name: function for functions in CHAPTERS.values() for function in functions for name in function.names
}


def find_function(name: str) -> Function | None:
    """The function of that name, case-insensitive; None if it is not supported."""
    return _BY_NAME.get(name.lower())


def near_functions(name: str) -> str:
    """A suggestion of functions with similar names, for an error message; empty if there is none."""
    return did_you_mean(name, _BY_NAME)


def render_function_tables() -> str:
    """The operators, casts and functions of SQL expressions, as Markdown for the reference page."""
    lines = ["Operators: " + ", ".join(f"`{each}`" for each in OPERATORS) + "."]
    targets: dict[str, list[str]] = {}
    for source, target in cast_pairs():
        targets.setdefault(source, []).append(target)
    casts = "; ".join(f"{source} to {', '.join(kinds)}" for source, kinds in targets.items())
    lines.append(f"Casts: {casts}.")
    tables: dict[str, Sequence[Function | Aggregate | WindowFunction | Generator]] = {
        **CHAPTERS,
        "Aggregate functions (in queries)": AGGREGATES,
        "Window functions (in queries)": WINDOW_FUNCTIONS,
        "Random functions and row numbers (in queries)": VOLATILE_FUNCTIONS,
        "Generator functions (in queries); all but `stack` also exist with the suffix `_outer`": GENERATORS,
    }
    for title, functions in tables.items():
        lines += ["", f"| {title} | |", "|---|---|"]
        for function in functions:
            names = ", ".join(f"`{name}`" for name in function.names)
            arguments = f"`({function.arguments})`" if function.arguments else "`()`"
            lines.append(f"| {names} | {arguments}{': ' + function.note if function.note else ''} |")
    return "\n".join(lines)
