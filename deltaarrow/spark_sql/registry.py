"""The list of functions that SQL expressions may call, and its rendering for the documentation."""

from collections.abc import Sequence

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.spark_sql import (
    arrays,
    attempts,
    bits,
    checks,
    clocks,
    conditionals,
    constructors,
    csv_texts,
    encodings,
    interval_values,
    json_reading,
    json_texts,
    lambdas,
    made_intervals,
    maps,
    mathematics,
    number_patterns,
    numbers,
    regular_expressions,
    row_hashes,
    temporal,
    text_formats,
    text_parts,
    texts,
    time_texts,
    urls,
    variant_functions,
)
from deltaarrow.spark_sql.aggregates import AGGREGATES, Aggregate
from deltaarrow.spark_sql.casts import cast_pairs
from deltaarrow.spark_sql.function import Function
from deltaarrow.spark_sql.generators import GENERATORS, Generator
from deltaarrow.spark_sql.volatile import VOLATILE_FUNCTIONS
from deltaarrow.spark_sql.windows import WINDOW_FUNCTIONS, WindowFunction

__all__ = ["CHAPTERS", "OPERATORS", "find_function", "near_functions", "render_function_tables"]

CHAPTERS: dict[str, tuple[Function, ...]] = {
    "Numbers": numbers.FUNCTIONS,
    "Exponents, logarithms and angles": mathematics.FUNCTIONS,
    "Bits": bits.FUNCTIONS,
    "Text": (
        *texts.FUNCTIONS,
        *text_parts.FUNCTIONS,
        *text_formats.FUNCTIONS,
        *number_patterns.FUNCTIONS,
        *regular_expressions.FUNCTIONS,
    ),
    "Codes of texts and bytes": (*encodings.FUNCTIONS, *urls.FUNCTIONS),
    "Dates and timestamps (in the session time zone, years 1 to 9999)": (
        *temporal.FUNCTIONS,
        *time_texts.FUNCTIONS,
        *clocks.FUNCTIONS,
        *interval_values.FUNCTIONS,
        *made_intervals.FUNCTIONS,
    ),
    "Choices, arrays, maps, structs and variants": (
        *conditionals.FUNCTIONS,
        *constructors.FUNCTIONS,
        *variant_functions.FUNCTIONS,
    ),
    "Attempts, which give NULL where others raise": attempts.FUNCTIONS,
    "Types, zeros and hashes": (*checks.FUNCTIONS, *row_hashes.FUNCTIONS),
    "JSON and CSV, not in what tables store": (
        *json_texts.FUNCTIONS,
        *json_reading.FUNCTIONS,
        *csv_texts.FUNCTIONS,
    ),
    "Arrays": arrays.FUNCTIONS,
    "Maps": maps.FUNCTIONS,
    "Functions that take functions": lambdas.FUNCTIONS,
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
