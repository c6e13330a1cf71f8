"""Conversion of an engine's errors: a damaged data file, or a row that cannot be computed.

DuckDB computes the rows of a query when they are read, and raises its own exceptions then. `QueryErrors`
makes them errors of this package, and `DeltaRelation` does so wherever the rows of a relation are read.
"""

import contextlib
import functools
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from deltaarrow.columnar.durations import with_durations
from deltaarrow.engines.duckdb.error_messages import show_statement
from deltaarrow.errors import DeltaError
from deltaarrow.runtime.interrupts import interruptible
from deltaarrow.scan import ScanPlan, reader_failure

__all__ = ["DeltaRelation", "QueryErrors", "Within", "open_batches"]


Within: TypeAlias = Callable[[], contextlib.AbstractContextManager[None]]
"""Begins a block whose errors tell more than they know."""


class QueryErrors:
    """Makes the exceptions of DuckDB errors of this package.

    Args:
        plans: of the Delta tables that the query reads.
        row_error: returns the error to raise for a row that cannot be computed; None for DuckDB's own.
        within: what tells in an error which statement of a text failed.
        statement: the statement as it was written, in which DuckDB's own errors show their place.
        table: the one table that a statement can name, if there is but one.
        interrupt: ends what the connection does, when Ctrl-C comes.
    """

    def __init__(
        self,
        plans: Sequence[ScanPlan] = (),
        row_error: Callable[[Exception], Exception | None] | None = None,
        within: Within = contextlib.nullcontext,
        *,
        statement: str = "",
        table: str | None = None,
        interrupt: Callable[[], object] = lambda: None,
    ) -> None:
        self._plans = tuple(plans)
        self._row_error = row_error
        self._within = within
        self._statement = statement
        self._table = table
        self._interrupt = interrupt

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Raise the error that an exception of DuckDB means; other exceptions pass."""
        with self._within(), interruptible(self._interrupt):
            try:
                yield
            except DeltaError:  # some are OSErrors, too
                raise
            except (duckdb.Error, OSError) as error:
                found = self._meant(error)
                if found is None and isinstance(error, duckdb.Error):
                    show_statement(error, self._statement, self._table)
                if found is None:
                    raise
                raise found from error

    def _meant(self, error: Exception) -> Exception | None:
        # A statement may also read files that are not of Delta tables.
        is_named = type(error) is not duckdb.Error
        damaged = (reader_failure(plan, error, is_named=is_named) for plan in self._plans)
        found: Exception | None = next((each for each in damaged if each is not None), None)
        if found is None and self._row_error is not None:
            found = self._row_error(error)
        return found

    def naming(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that raises what `named` does, and so do the relation and the stream it returns.

        A stream in DuckDB's dialect is DuckDB's own.
        """

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.named():
                result = method(*args, **kwargs)
            if self._row_error is not None:
                result = with_durations(result)
            if isinstance(result, duckdb.DuckDBPyRelation):
                return DeltaRelation.of(result, self)
            if isinstance(result, pa.RecordBatchReader) and self._row_error is not None:
                return pa.RecordBatchReader.from_batches(result.schema, self.read(result))
            return result

        return call

    def read(self, batches: pa.RecordBatchReader) -> Generator[pa.RecordBatch, None, None]:
        """Yield the batches, and close them at the end; raises what `named` does.

        Ctrl-C between two batches is for the caller alone.
        """
        with batches:
            while True:
                with self.named():
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch


_errors: "weakref.WeakKeyDictionary[DeltaRelation, QueryErrors]" = weakref.WeakKeyDictionary()
_results: "weakref.WeakKeyDictionary[DeltaRelation, pa.Table]" = weakref.WeakKeyDictionary()


class DeltaRelation(duckdb.DuckDBPyRelation):
    """A relation of DuckDB's whose rows raise errors of this package.

    So do the relations that are made of it, and the streams of its rows. A relation of the result of a
    statement has the methods of its Arrow table beside DuckDB's.
    """

    __slots__ = ()

    @staticmethod
    def of(
        relation: duckdb.DuckDBPyRelation, errors: QueryErrors, result: "pa.Table | None" = None
    ) -> "DeltaRelation":
        """Make a relation one of this class, whose rows may be the result of a statement."""
        relation.__class__ = DeltaRelation
        assert isinstance(relation, DeltaRelation)
        _errors[relation] = errors
        if result is not None:
            _results[relation] = result
        return relation

    def __getattribute__(self, name: str) -> Any:
        """The attribute of DuckDB's relation; what it reads and returns raises this package's errors too."""
        if name.startswith("_") and name != "__arrow_c_stream__":
            return super().__getattribute__(name)
        errors = _errors[self]
        with errors.named():
            value = super().__getattribute__(name)
        return errors.naming(value) if callable(value) else value

    def __getattr__(self, name: str) -> Any:
        """The relation of one column, or what the Arrow table of a result has."""
        result = _results.get(self)
        if hasattr(result, name) and name not in self.columns:
            return getattr(result, name)
        return _errors[self].naming(super().__getattr__)(name)

    def __getitem__(self, name: str) -> Any:
        """The relation of one column."""
        return _errors[self].naming(super().__getitem__)(name)

    def pl(self, *args: Any, **kwargs: Any) -> Any:
        """The rows as a frame of Polars, which does not read DuckDB's intervals."""
        if not _has_intervals(self):
            return super().pl(*args, **kwargs)
        import polars as pl  # lazy: optional

        frame = pl.from_arrow(self.to_arrow_table())
        return frame.lazy() if kwargs.get("lazy") and isinstance(frame, pl.DataFrame) else frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The rows as a stream of Arrow, for libraries that take Arrow objects of any package."""
        if not _has_intervals(self):
            return super().__arrow_c_stream__(requested_schema)
        return self.to_arrow_reader().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """The number of rows."""
        with _errors[self].named():
            return super().__len__()

    def __repr__(self) -> str:
        """The first rows, as DuckDB shows them."""
        with _errors[self].named():
            return super().__repr__()

    __str__ = __repr__


def _has_intervals(relation: duckdb.DuckDBPyRelation) -> bool:
    return any("INTERVAL" in str(each) for each in relation.types)


def open_batches(
    relation: duckdb.DuckDBPyRelation,
) -> tuple[pa.Schema, Generator[pa.RecordBatch, None, None]]:
    """Return the schema of a relation's rows, and the rows; to close these ends the query."""
    errors = _errors[relation] if isinstance(relation, DeltaRelation) else QueryErrors()
    with errors.named():
        found = duckdb.DuckDBPyRelation.to_arrow_reader(relation)
    return found.schema, errors.read(found)
