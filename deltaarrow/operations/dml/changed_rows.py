"""The query that finds the rows an operation changes, with their old and new values.

DuckDB runs it over the files of the table and, in a MERGE, the source. Each result row belongs to a *clause*,
which deletes, updates or inserts a row. The columns are:

==========  ==========================================================================================
``clause``  the number of the clause; `NO_CLAUSE` for a matched row that stays unchanged
``file``    the index of the row's file in the plan; NULL for an inserted row
``row``     the position of the row in its file
``source``  the number of the source row, in a MERGE that runs in parts and inserts rows
``row_id``  the row id and, as ``row_version``, the row commit version, if the table tracks rows
``n0`` ...  the new values of the table's columns, if the clause gives them
``o0`` ...  the old values of the table's columns, if requested
==========  ==========================================================================================
"""

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans
from deltaarrow.compute import quote_identifier
from deltaarrow.errors import DeltaError
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition, Value
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import provide_kernels, row_error

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "NO_CLAUSE",
    "ChangeQuery",
    "Clause",
    "ClauseKind",
    "FoundRows",
    "computing_rows",
    "exported_name",
    "found_columns",
    "has_rows",
    "read_changes",
]

NO_CLAUSE = -1
_BATCH_ROWS = 1 << 17


class ClauseKind(StrEnum):
    """The change of a row by a clause."""

    DELETE = "delete"
    UPDATE = "update"
    INSERT = "insert"


@dataclass(frozen=True)
class Clause:
    """The change of the rows that satisfy a condition; `values` holds the assigned columns by name."""

    kind: ClauseKind
    condition: QueryCondition = ALWAYS
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class ChangeQuery:
    """The query over `rows`: a SELECT of the columns above before ``n0`` and the columns that values read.

    The columns that values read have the names of `exported_name`, which cannot clash with table columns.
    `tells_source` says that rows have the column ``source``.
    """

    rows: str
    schema: Schema
    clauses: Sequence[Clause]
    has_row_ids: bool
    old: Mapping[str, str]
    tells_source: bool = False

    @property
    def texts(self) -> list[str]:
        """The conditions and values that may fail, as users wrote them."""
        conditions = [each.condition.text for each in self.clauses if each.condition.can_fail]
        values = [value for each in self.clauses for value in each.values.values()]
        return list(dict.fromkeys(conditions + [each.text for each in values if each.can_fail]))

    @property
    def sql(self) -> str:
        """The whole query, in which `rows` has the alias ``j``."""
        columns = ["clause", "file", "row", *(["row_id", "row_version"] if self.has_row_ids else [])]
        columns += ["source"] if self.tells_source else []
        for place, name in enumerate(self.schema.names):
            if (new := self._new(name)) is not None:
                columns.append(f"{new}::{self._type(name)} AS n{place}")
            if name in self.old:
                columns.append(f"{self.old[name]} AS o{place}")
        return f"SELECT {', '.join(columns)} FROM ({self.rows}) AS j"

    def _type(self, name: str) -> str:
        return scan.located_type(self.schema.field(name).type)

    def _new(self, name: str) -> str | None:
        given = {
            place: each.values[name].sql for place, each in enumerate(self.clauses) if name in each.values
        }
        if not given:
            return None
        if len(set(given.values())) == 1 and len(given) == len(self.clauses):
            return next(iter(given.values()))
        whens = " ".join(f"WHEN {place} THEN {sql}" for place, sql in given.items())
        return f"CASE clause {whens} END"


@dataclass(frozen=True)
class FoundRows:
    """Rows of one clause from one batch: their positions, new values and old values.

    `clause` is None for matched rows that stay unchanged; `new` is None for deleted rows. `files` and
    `positions` are None for inserted rows; `row_ids` and `row_versions` are None for inserted rows and if the
    table does not track rows. `sources` are the numbers of the source rows that match them, if
    the query tells.
    """

    clause: Clause | None
    number: int
    rows: int
    files: np.ndarray | None
    positions: np.ndarray | None
    row_ids: pa.Array | None
    row_versions: pa.Array | None
    new: pa.RecordBatch | None
    old: pa.RecordBatch | None
    sources: np.ndarray | None = None

    def filter(self, chosen: np.ndarray) -> Self:
        """Return the chosen rows."""
        mask = booleans(chosen)
        return replace(
            self,
            rows=int(chosen.sum()),
            files=None if self.files is None else self.files[chosen],
            positions=None if self.positions is None else self.positions[chosen],
            row_ids=None if self.row_ids is None else self.row_ids.filter(mask),
            row_versions=None if self.row_versions is None else self.row_versions.filter(mask),
            new=None if self.new is None else self.new.filter(mask),
            old=None if self.old is None else self.old.filter(mask),
            sources=None if self.sources is None else self.sources[chosen],
        )


def exported_name(side: str, name: str) -> str:
    """Return the quoted name of a column of one side of the query in `ChangeQuery.rows`."""
    return quote_identifier(f"{side}.{name}")


def found_columns(clause: str, ids: Sequence[str]) -> list[str]:
    """Return the columns of `ChangeQuery.rows` that come before the columns that values read.

    Args:
        clause: the SQL of the clause number, over ``t``, the located rows of the table.
        ids: the row tracking columns, all or none.
    """
    tracked = zip(ids, ("row_id", "row_version"), strict=False)
    return [
        f"{clause} AS clause",
        f't.{scan.FILE_COLUMN} AS "file"',
        f't.{scan.ROW_COLUMN} AS "row"',
        *(f"t.{quote_identifier(column)} AS {name}" for column, name in tracked),
    ]


def read_changes(cursor: "duckdb.DuckDBPyConnection", query: ChangeQuery) -> Generator[FoundRows, None, None]:
    """Run a query and yield its rows by clause.

    Raises `ConstraintViolationError` if a condition or a value cannot be computed for a row.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(computing_rows(lambda: query.texts))
        provide_kernels(cursor, query.sql)
        batches = cursor.sql(query.sql).to_arrow_reader(_BATCH_ROWS)
        # An open result would keep the cursor from running anything else.
        stack.callback(batches.close)
        for batch in batches:
            yield from _by_clause(query, batch)


@contextlib.contextmanager
def computing_rows(texts: Callable[[], Sequence[str]] = list) -> Iterator[None]:
    """Raise `ConstraintViolationError` if a query fails because a value cannot be computed for a row.

    The error names the conditions and values of `texts`, as users wrote them. `UnsupportedFeatureError` for a
    value that is not supported.
    """
    import duckdb

    try:
        yield
    except DeltaError:  # some are OSErrors, too
        raise
    except (duckdb.Error, OSError) as error:
        named = texts()
        within = f" in {'; '.join(named)}" if named else ""
        found = row_error(error, f"a row cannot be computed{within}", named[0] if len(named) == 1 else None)
        if found is None:
            raise
        raise found from error


def has_rows(cursor: "duckdb.DuckDBPyConnection", rest: str) -> bool:
    """Whether a query, given from its FROM on, has a row, or fails for a row or because a file is gone."""
    import duckdb

    provide_kernels(cursor, rest)
    try:
        return bool(cursor.sql(f"SELECT 1 {rest} LIMIT 1").fetchall())
    except (
        duckdb.OutOfRangeException,
        duckdb.ConversionException,
        duckdb.InvalidInputException,
        duckdb.IOException,
    ):
        return True


def _by_clause(query: ChangeQuery, batch: pa.RecordBatch) -> Iterator[FoundRows]:
    numbers = np.from_dlpack(batch.column("clause"))
    if not len(numbers):
        return
    # The numbers of clauses are few; `numpy.unique` would import `numpy.ma`.
    for number in range(int(numbers.min()), int(numbers.max()) + 1):
        chosen = numbers == number
        if not chosen.any():
            continue
        part = batch if chosen.all() else batch.filter(booleans(chosen))
        yield _found(query, number, part)


def _found(query: ChangeQuery, number: int, batch: pa.RecordBatch) -> FoundRows:
    clause = None if number == NO_CLAUSE else query.clauses[number]
    is_present = clause is None or clause.kind is not ClauseKind.INSERT
    names = set(batch.schema.names)
    is_tracked = query.has_row_ids and is_present
    sources = batch.column("source") if query.tells_source else None
    new = None
    if clause is not None and clause.kind is not ClauseKind.DELETE:
        given = [(place, name) for place, name in enumerate(query.schema.names) if name in clause.values]
        new = _columns(batch, [(f"n{place}", name) for place, name in given])
    old = None
    if clause is not None and is_present and query.old:
        old = _columns(
            batch, [(f"o{p}", name) for p, name in enumerate(query.schema.names) if f"o{p}" in names]
        )
    return FoundRows(
        clause,
        number,
        batch.num_rows,
        _integers(batch.column("file")) if is_present else None,
        _integers(batch.column("row")) if is_present else None,
        batch.column("row_id").cast(pa.int64()) if is_tracked else None,
        batch.column("row_version").cast(pa.int64()) if is_tracked else None,
        new,
        old,
        # A clause is for rows that are all matched by the source, or all not.
        None if sources is None or sources.null_count else _integers(sources),
    )


def _columns(batch: pa.RecordBatch, columns: Sequence[tuple[str, str]]) -> pa.RecordBatch:
    arrays = [batch.column(source) for source, _ in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for _, name in columns])


def _integers(column: pa.Array) -> np.ndarray:
    is_wide = column.type == pa.int64()
    values: np.ndarray = np.from_dlpack(column if is_wide else pc.cast(column, pa.int64()))
    return values
