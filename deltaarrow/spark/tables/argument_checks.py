"""Checks of arguments with delta-spark's kinds of errors, and expressions as SQL text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import Column

if TYPE_CHECKING:
    from deltaarrow.spark.tables.column_sql import ColumnTexts

__all__ = ["assigned", "column_list", "condition_of", "ensure_type", "refuse_types"]

_KINDS = {str: "a string", int: "an int", bool: "a boolean", dict: "a dict"}


def ensure_type(value: Any, kind: type, name: str) -> None:
    """Raise `ValueError` unless an argument has a type."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} needs to be {_KINDS[kind]} but got '{type(value)}'.")


def refuse_types(message: str, values: Iterable[Any]) -> NoReturn:
    """Raise `TypeError` with the values of the wrong types."""
    found = "".join(f" Found {value} with type {type(value)}" for value in values)
    raise TypeError(f"{message}{found}")


def column_list(columns: tuple[Any, ...], what: str) -> tuple[str, ...]:
    """Return names of columns that are given one by one, or in one list.

    >>> column_list((["a", "b"],), "Clustering")
    ('a', 'b')
    """
    listed = columns[0] if len(columns) == 1 and isinstance(columns[0], list | tuple) else columns
    for each in listed:
        if type(each) is not str:
            refuse_types(f"{what} column must be str.", [each])
    return tuple(listed)


def condition_of(condition: Any, texts: "ColumnTexts", name: str = "condition") -> str | None:
    """Return the SQL of a condition; None if there is none.

    Raises `TypeError` for anything but a string or a PySpark column, and the errors of `ColumnTexts.text`.
    """
    if condition is None:
        return None
    if not isinstance(condition, str | Column):
        raise TypeError(
            f"{name!r} must be a Spark SQL Column or a string (expression in SQL syntax), found to be of type"
            f" {type(condition)}"
        )
    return texts.text(condition)


def assigned(values: Any, texts: "ColumnTexts", name: str) -> dict[str, str]:
    """Return the SQL of values by column name.

    Raises `ValueError` without values, and otherwise as `condition_of`.
    """
    if values is None:
        raise ValueError(f"{name} cannot be None")
    if type(values) is not dict:
        raise TypeError(f"{name} must be a dict, found to be {type(values)}")
    found = {}
    for column, value in values.items():
        if type(column) is not str:
            raise TypeError(
                f"Keys of dict in {name} must contain only strings with column names, found {column!r} of"
                f" type {type(column)}"
            )
        if not isinstance(value, str | Column):
            raise TypeError(
                f"Values of dict in {name} must contain only Spark SQL Columns or strings (expressions in"
                f" SQL syntax) as values, found {value!r} of type {type(value)}"
            )
        found[column] = texts.text(value)
    return found
