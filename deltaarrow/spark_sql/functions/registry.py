"""The list of functions that SQL expressions may call, and its rendering for the documentation."""

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
    from_json,
    hash,
    higher_order,
    interval,
    interval_arithmetic,
    json,
    map,
    math,
    math_rounding,
    number_patterns,
    predicate,
    regexp,
    string,
    string_formats,
    string_parts,
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
    "Numbers": math_rounding.FUNCTIONS,
    "Exponents, logarithms and angles": math.FUNCTIONS,
    "Bits": bitwise.FUNCTIONS,
    "Text": (
        *string.FUNCTIONS,
        *string_parts.FUNCTIONS,
        *string_formats.FUNCTIONS,
        *number_patterns.FUNCTIONS,
        *regexp.FUNCTIONS,
    ),
    "Codes of texts and bytes": (*encodings.FUNCTIONS, *url.FUNCTIONS),
    "Dates and timestamps (in the session time zone, years 1 to 9999)": (
        *datetime.FUNCTIONS,
        *datetime_parsing.FUNCTIONS,
        *datetime_parts.FUNCTIONS,
        *interval_arithmetic.FUNCTIONS,
        *interval.FUNCTIONS,
    ),
    "Choices, arrays, maps, structs and variants": (
        *conditional.FUNCTIONS,
        *constructors.FUNCTIONS,
        *variant.FUNCTIONS,
    ),
    "Attempts, which give NULL where others raise": try_functions.FUNCTIONS,
    "Types, zeros and hashes": (*predicate.FUNCTIONS, *hash.FUNCTIONS),
    "JSON and CSV, not in what tables store": (
        *json.FUNCTIONS,
        *from_json.FUNCTIONS,
        *csv.FUNCTIONS,
    ),
    "Arrays": array.FUNCTIONS,
    "Maps": map.FUNCTIONS,
    "Functions that take functions": higher_order.FUNCTIONS,
}
"""The functions by section of the reference page."""

OPERATORS = (
    *("+", "-", "*", "/", "%", "div", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"),
    *("&", "|", "^", "~", "<<", ">>", "AND", "OR", "NOT", "!", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE"),
    *("IS [NOT] NULL", "IS [NOT] TRUE", "IS [NOT] FALSE", "IS [NOT] DISTINCT FROM", "CASE", "CAST"),
    *("TRY_CAST", "::", "EXTRACT", "INTERVAL", "value -> value", "array[place]", "(value, ...)"),
    *("map[key]", "struct.field"),
)
"""The operators, as the reference page lists them."""

_BY_NAME = {
    name: function for functions in CHAPTERS.values() for function in functions for name in function.names
}


def find_function(name: str) -> Function | None:
    """The function of that name, in any case; None if it is not on the list."""
    return _BY_NAME.get(name.lower())


def near_functions(name: str) -> str:
    """The part of a message that names functions whose names are close; empty if there is none."""
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
        "Aggregates, in queries": AGGREGATES,
        "Functions over windows, in queries": WINDOW_FUNCTIONS,
        "Values at random and the numbers of rows, in queries": VOLATILE_FUNCTIONS,
        "Generators, in queries; each but `stack` with `_outer` behind its name too": GENERATORS,
    }
    for title, functions in tables.items():
        lines += ["", f"| {title} | |", "|---|---|"]
        for function in functions:
            names = ", ".join(f"`{name}`" for name in function.names)
            arguments = f"`({function.arguments})`" if function.arguments else "`()`"
            lines.append(f"| {names} | {arguments}{': ' + function.note if function.note else ''} |")
    return "\n".join(lines)
