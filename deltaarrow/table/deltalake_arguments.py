"""`tells_old_arguments`: the replacements of arguments that older releases of ``deltalake`` took."""

import functools
import re
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

from deltaarrow.display.near_names import did_you_mean

__all__ = ["tells_old_arguments"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_INSTEAD_OF = {
    "custom_metadata": "commit_properties=CommitProperties(custom_metadata={...})",
    "file_options": "writer_properties=WriterProperties(...)",
    "filesystem": "storage_options",
    "max_rows_per_file": "target_file_size, in bytes",
    "max_rows_per_group": "writer_properties=WriterProperties(max_row_group_size=rows)",
    "min_rows_per_group": "writer_properties=WriterProperties(max_row_group_size=rows)",
    "overwrite_schema": "schema_mode='overwrite' with mode='overwrite'",
    "partition_filters": "predicate, a condition in SQL, such as predicate=\"day = '2026-01-31'\"",
    # Options of Spark, and arguments of other writers.
    "mergeSchema": "schema_mode='merge'",
    "merge_schema": "schema_mode='merge'",
    "overwriteSchema": "schema_mode='overwrite' with mode='overwrite'",
    "partitionBy": "partition_by",
    "partition_cols": "partition_by",
    "replaceWhere": "predicate with mode='overwrite'",
    "replace_where": "predicate with mode='overwrite'",
}
"""Arguments of other libraries -> the equivalent argument here, first in the text."""

_NEEDLESS = {
    "arrow_schema_conversion_mode": "leave it out: every Arrow type that fits is stored",
    "engine": "leave it out: there is one writer",
    "large_dtypes": "leave it out: types with 64-bit offsets are taken as they are",
    "max_open_files": "leave it out: the writer limits its open files",
    "max_partitions": "leave it out: any number of partitions is written",
    "schema": "cast the data instead, such as with data.cast(schema)",
}
"""Arguments without an equivalent -> what to do instead."""


def tells_old_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function, whose error for an unknown keyword argument says what to use.

    Raises (the function):
        TypeError: an argument is unknown.

    >>> @tells_old_arguments
    ... def write(data, *, schema_mode=None): ...
    >>> write([], overwrite_schema=True)
    Traceback (most recent call last):
    TypeError: write() takes no argument 'overwrite_schema'; use schema_mode='overwrite' with mode='overwrite'
    """
    code = function.__code__
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs:
            if name not in taken:
                raise TypeError(f"{function.__name__}() takes no argument {name!r}{_way_out(name, taken)}")
        return function(*args, **kwargs)

    return call


def _way_out(name: str, taken: Collection[str]) -> str:
    instead = _INSTEAD_OF.get(name)
    if instead is not None and re.split(r"\W", instead, maxsplit=1)[0] in taken:
        return f"; use {instead}"
    return f"; {_NEEDLESS[name]}" if name in _NEEDLESS else did_you_mean(name, taken)
