"""`sink_delta`: streams a Polars LazyFrame into a Delta table, with the arguments of Polars' own method."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from deltaarrow.runtime.optional import require
from deltaarrow.table.delta_table import DeltaTable
from deltaarrow.table.writer import write_deltalake

if TYPE_CHECKING:
    import polars as pl

    from deltaarrow.operations import WriteResult
    from deltaarrow.table.merger import TableMerger

__all__ = ["sink_delta"]


@overload
def sink_delta(
    frame: "pl.LazyFrame",
    target: str | os.PathLike[str] | DeltaTable,
    *,
    mode: Literal["merge"],
    storage_options: Mapping[str, str] | None = None,
    delta_merge_options: Mapping[str, Any],
) -> "TableMerger": ...


@overload
def sink_delta(
    frame: "pl.LazyFrame",
    target: str | os.PathLike[str] | DeltaTable,
    *,
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    storage_options: Mapping[str, str] | None = None,
    delta_write_options: Mapping[str, Any] | None = None,
) -> "WriteResult": ...


def sink_delta(
    frame: "pl.LazyFrame",
    target: str | os.PathLike[str] | DeltaTable,
    *,
    mode: Literal["error", "append", "overwrite", "ignore", "merge"] = "error",
    storage_options: Mapping[str, str] | None = None,
    delta_write_options: Mapping[str, Any] | None = None,
    delta_merge_options: Mapping[str, Any] | None = None,
) -> "WriteResult | TableMerger":
    """Run a lazy frame and write its rows to a Delta table while they come; commit once at the end.

    It has the arguments of `polars.LazyFrame.sink_delta`, which writes with ``deltalake``. The rows are never
    collected. If the query fails, nothing is committed.

    Args:
        frame: the query.
        target: the table or its folder. A `DeltaTable` moves to the committed version.
        mode: as for `write_deltalake`; or ``merge``, which returns a merger of the table with the rows.
        storage_options: see `DeltaTable`.
        delta_write_options: the other arguments of `write_deltalake` by name.
        delta_merge_options: the arguments of `DeltaTable.merge` beside the source, `predicate` among them.

    Returns:
        What `write_deltalake` returns; for mode ``merge`` a `TableMerger`, whose `execute` runs the query.

    Raises:
        TypeError: `frame` is not a lazy frame.
        ValueError: mode ``merge`` without `delta_merge_options`, or options of the other kind.
        MissingDependencyError: Polars is not installed.

    >>> import tempfile, polars as pl
    >>> folder = tempfile.mkdtemp()
    >>> sink_delta(pl.LazyFrame({"id": [1, 2, 3]}).filter(pl.col("id") > 1), folder).version
    0
    >>> sink_delta(pl.LazyFrame({"id": [4]}), folder, mode="append").version
    1
    >>> DeltaTable(folder).count()
    3
    """
    if not isinstance(frame, require("polars").LazyFrame):
        raise TypeError(
            f"sink_delta takes a polars.LazyFrame, not {type(frame).__qualname__};"
            " write_deltalake takes other data"
        )
    if mode == "merge":
        if delta_merge_options is None or "predicate" not in delta_merge_options:
            raise ValueError("mode 'merge' needs delta_merge_options with a predicate")
        if delta_write_options is not None:
            raise ValueError("mode 'merge' takes delta_merge_options, and no delta_write_options")
        table = (
            target if isinstance(target, DeltaTable) else DeltaTable(target, storage_options=storage_options)
        )
        return table.merge(frame, **delta_merge_options)
    if delta_merge_options is not None:
        raise ValueError(f"delta_merge_options are for mode 'merge', not {mode!r}")
    options = dict(delta_write_options or {})
    return write_deltalake(target, frame, mode=mode, storage_options=storage_options, **options)
