"""A snapshot as a view on a DuckDB connection, read by DuckDB's own Parquet reader.

The view contains everything that the reader needs when it is made: names and types, partition values and
deleted rows (`deltaarrow.scan.sql.relation`). The reader is three times as fast as an Arrow dataset. If it
cannot be used, the view is over the Arrow dataset, to which DuckDB passes the columns and filters of each
query.
"""

import contextlib
import re
import secrets
import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Literal, Protocol

import duckdb
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.compute import filesystem_for_duckdb, quote_identifier
from deltaarrow.engines.accepted_tables import HasChanges, TableSource, snapshot_of
from deltaarrow.errors import DeltaError, UnsupportedFeatureError
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import ROW_TRACKING_COLUMNS, ScanPlan, plan_scan, reader_failure
from deltaarrow.scan.sql.file_columns import BeyondDuckDBError
from deltaarrow.scan.sql.relation import Relation, relation_sql
from deltaarrow.schema import UnreadableColumnError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

if TYPE_CHECKING:
    from deltaarrow.engines.change_dataset import ChangeDataset
    from deltaarrow.engines.dataset import LogDataset
    from deltaarrow.engines.duckdb.arrow_datasets import DatasetForDuckDB

__all__ = [
    "ShownFiles",
    "create_parts",
    "ensure_view_name",
    "planned_relation",
    "query",
    "query_all",
    "reach",
    "register",
    "shown_views",
    "unregister",
]

_HELPER = "__deltaarrow"

_NONE: Mapping[str, str] = MappingProxyType({})

_MOST_FILES = 10_000
"""Each listed file costs DuckDB 5 to 9 microseconds per query, even one that it does not open."""
_MOST_REMOTE_FILES = 256
"""On remote stores each file costs a request."""
_MOST_SMALL_FILES = 1_000
_SMALL_BYTES = 32 << 10
"""If a table has that many files smaller than this, opening them takes longer than reading, and DuckDB opens
all files except by conditions on partitions. For 2,000 files of 4 KB, milliseconds with its reader and the
dataset:

===================================  ======  =======
what is read                         reader  dataset
===================================  ======  =======
one partition of 1,000                   20        5
one id                                  202        7
one id of 50, by its range              248       23
one column                              253      531
===================================  ======  =======
"""


Native = Literal["auto"] | bool

_dataset = lazy_attributes(
    __name__,
    dict.fromkeys(["ChangesForDuckDB", "DatasetForDuckDB"], "deltaarrow.engines.duckdb.arrow_datasets"),
)
"""The datasets behind views; imported lazily, since they import pyarrow.dataset."""


# --- plan ------------------------------------------------------------------------------------------

# DuckDB tells only that a file system is registered, not which. Keyed by connection: a file system that
# another cursor of the same database registered may not be the right one.
_registered: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, Hashable]]
_registered = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class ShownFiles:
    """The files behind a view: `branches` has, for each ``read_parquet``, the places of its files in `files`.

    `parts` is the table `helper` that the files are joined with, without masks, and `part_names` its columns
    for the partition columns.
    """

    snapshot: Snapshot
    helper: str
    files: pa.Table
    branches: Sequence[Sequence[int]]
    part_names: Mapping[str, str]
    parts: pa.Table | None


_views: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, "ShownFiles | DatasetForDuckDB"]]
_views = weakref.WeakKeyDictionary()


_defaults: set[duckdb.DuckDBPyConnection] = set()
"""Holds the default connection, whose Python object DuckDB drops if nobody refers to it."""


def shown_views(connection: duckdb.DuckDBPyConnection) -> Mapping[str, "ShownFiles | DatasetForDuckDB"]:
    """Return the content of the views made on a connection."""
    return _views.get(connection, {})


def _relation(
    connection: duckdb.DuckDBPyConnection,
    snapshot: Snapshot,
    parts_name: str,
    *,
    with_row_ids: bool,
    reads_small_files: bool,
) -> tuple[Relation, ScanPlan]:
    """The SQL of a view over the data files, and their plan; `BeyondDuckDBError` if there is none."""
    tracked = ROW_TRACKING_COLUMNS if with_row_ids else ()
    if not snapshot.schema.names:
        raise UnsupportedFeatureError("the table has no columns, which DuckDB needs", feature="empty schema")
    try:
        plan = plan_scan(snapshot, columns=[*snapshot.schema.names, *tracked])
        if not reads_small_files and _are_many_and_small(plan.files):
            # Before reading deletion vectors and footers for the SQL, which the dataset does not need.
            raise BeyondDuckDBError(f"the table has {plan.files.num_rows} small files")
        return planned_relation(connection, plan, parts_name), plan
    except UnreadableColumnError as error:
        # The view has all columns. A query of the dataset can leave out one that cannot be read.
        raise BeyondDuckDBError(str(error), feature=error.feature) from error


def planned_relation(connection: duckdb.DuckDBPyConnection, plan: ScanPlan, parts_name: str) -> Relation:
    """Return a plan as SQL for a connection; create its table of files first (`create_parts`).

    Raises `BeyondDuckDBError` if DuckDB's reader cannot be used.
    """
    count, store = plan.files.num_rows, plan.store
    limit = _MOST_FILES if store.is_local else _MOST_REMOTE_FILES
    if count > limit:
        raise BeyondDuckDBError(f"the table has {count} files; the limit for DuckDB is {limit}")
    (external,) = connection.execute("SELECT current_setting('enable_external_access')").fetchall()[0]
    if count and str(external).lower() != "true":
        raise BeyondDuckDBError("the connection may not read files (enable_external_access is off)")
    relation = relation_sql(plan, parts_name, variables_name=parts_name)
    if count and not store.is_local:
        reach(connection, store, [task.path for task in plan.tasks])
    return relation


def _are_many_and_small(files: pa.Table) -> bool:
    many = files.num_rows > _MOST_SMALL_FILES
    return many and bool(numbers_of(files.column("size")).mean() < _SMALL_BYTES)


def reach(connection: duckdb.DuckDBPyConnection, store: Store, paths: Sequence[str]) -> None:
    """Register the file system of a store on a connection, if it certainly can be used.

    Raises `BeyondDuckDBError` if it cannot.
    """
    if any(mark in path for path in paths for mark in "*?["):
        raise BeyondDuckDBError("a file of a remote store has a name that is a pattern")
    filesystem = filesystem_for_duckdb(store)
    if filesystem is None:
        return
    protocol = store.uri.partition("://")[0]
    ours = _registered.setdefault(connection, {})
    if not connection.filesystem_is_registered(protocol):
        connection.register_filesystem(filesystem)
        ours[protocol] = store.filesystem_key
    elif ours.get(protocol) != store.filesystem_key:
        raise BeyondDuckDBError(f"another file system is registered for {protocol}:// on the connection")


def _helpers(connection: duckdb.DuckDBPyConnection, prefix: str) -> list[tuple[str, str]]:
    """The tables, variables and datasets of earlier registrations of a name, with their kinds."""
    found = connection.execute(
        "SELECT table_name, 'TABLE' FROM duckdb_tables() WHERE temporary AND starts_with(table_name, $1)"
        " UNION ALL"
        " SELECT view_name, 'VIEW' FROM duckdb_views() WHERE temporary AND starts_with(view_name, $1)"
        " UNION ALL SELECT name, 'VARIABLE' FROM duckdb_variables() WHERE starts_with(name, $1)",
        [prefix],
    ).fetchall()
    # The suffix has a fixed length: "a:" must not match objects of the name "a:b".
    number = re.compile(r"(:(mask )?\d+)?")
    return [
        (name, kind)
        for name, kind in found
        if number.fullmatch(name[len(prefix) + _SUFFIX_LENGTH :]) is not None
    ]


_SUFFIX_LENGTH = 16


# --- stream ----------------------------------------------------------------------------------------


class _Connected(Protocol):
    """A connection of `deltaarrow.connect`, whose own statements may be in Spark's dialect."""

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection below it."""


def _own_connection(
    con: duckdb.DuckDBPyConnection | ModuleType | _Connected,
) -> duckdb.DuckDBPyConnection:
    if isinstance(con, ModuleType):
        return duckdb.default_connection()
    return con if isinstance(con, duckdb.DuckDBPyConnection) else con.connection


def register(
    con: duckdb.DuckDBPyConnection | ModuleType | _Connected,
    name: str,
    table: "TableSource | ChangeDataset",
    native: Native = "auto",
    *,
    row_tracking: bool = False,
) -> None:
    """Create the temporary view `name` on a DuckDB connection, with the rows of `table` at its version.

    The view has the columns of the table in their order: ``timestamp`` as ``TIMESTAMP WITH TIME ZONE``,
    ``timestamp_ntz`` as ``TIMESTAMP``, ``variant`` as ``VARIANT`` (in which a null variant is not NULL),
    ``void`` as NULLs. It stays at that version until `register` is called again with the same name. Only
    temporary objects are created, so a read-only database is enough; cursors of the connection do not see
    them. For a table on a remote store its fsspec file system is also registered on the connection, unless
    the protocol already has one. If DuckDB's reader fails on a file when the view is read, the exception is
    DuckDB's.

    Args:
        con: the connection, of DuckDB or of `deltaarrow.connect`; ``duckdb`` itself stands for the default
            connection.
        name: the name of the view. A temporary view of that name is replaced.
        table: a `DeltaTable`, a `Snapshot`, or a path or URI; or a change data feed from
            `DeltaTable.change_data_feed`, which is read through Arrow.
        native: ``"auto"`` uses DuckDB's own reader, and the Arrow dataset where that reader cannot be
            used: for very many files (more than 10,000, or 1,000 of less than 32 KiB), or if a file may
            hold null variants, which DuckDB's reader reads as NULL. False always uses the dataset, which
            plans files anew for the filters of each query; True never does.
        row_tracking: add the columns ``_metadata.row_id`` and ``_metadata.row_commit_version``, BIGINT.

    Raises:
        SchemaMismatchError: `row_tracking` is requested but not enabled on the table.
        UnsupportedFeatureError: `native` is True and DuckDB's reader cannot read the table; or row
            tracking columns are requested for a change data feed.
        DeltaError: `name` cannot be the name of a view.
        CorruptDataFileError: a file is missing, broken, or contradicts the schema of the table.

    >>> import deltaarrow, tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> _ = deltaarrow.write_deltalake(folder, pa.table({"id": [1, 2]}))
    >>> con = duckdb.connect()
    >>> register(con, "numbers", deltaarrow.DeltaTable(folder))
    >>> con.sql("SELECT sum(id) FROM numbers").fetchall()
    [(3,)]
    """
    if native not in ("auto", True, False):
        raise ValueError(f"native must be 'auto', True or False, not {native!r}")
    ensure_view_name(name)
    connection = _own_connection(con)
    if isinstance(con, ModuleType):
        _defaults.add(connection)
    prefix = f"{_HELPER}:{name}:"
    earlier = _helpers(connection, prefix)
    # A unique name, so that the view in use never meets the helper table of another version.
    helper = prefix + secrets.token_hex(_SUFFIX_LENGTH // 2)
    if isinstance(table, HasChanges):
        _show_changes(connection, name, helper, table, native=native, row_tracking=row_tracking)
        _views.get(connection, {}).pop(name, None)
    else:
        _show_snapshot(connection, name, helper, snapshot_of(table), native=native, row_tracking=row_tracking)
    _drop(connection, earlier)


def ensure_view_name(name: str) -> None:
    """Raise `DeltaError` for a name that a view cannot have."""
    if not name or "\0" in name:
        raise DeltaError(f"cannot register a table as {name!r}: a name must not be empty or contain NUL")


def unregister(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop the temporary view that `register` created under a name, and its helper objects."""
    connection.execute(f"DROP VIEW IF EXISTS temp.main.{quote_identifier(name)}")
    _drop(connection, _helpers(connection, f"{_HELPER}:{name}:"))
    _views.get(connection, {}).pop(name, None)


def _drop(connection: duckdb.DuckDBPyConnection, helpers: Sequence[tuple[str, str]]) -> None:
    for name, kind in helpers:
        if kind == "TABLE":
            connection.execute(f"DROP TABLE temp.main.{quote_identifier(name)}")
        elif kind == "VARIABLE":
            connection.execute(f"RESET VARIABLE {quote_identifier(name)}")
        else:
            connection.unregister(name)


def _show_snapshot(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    helper: str,
    snapshot: Snapshot,
    *,
    native: Native,
    row_tracking: bool,
) -> None:
    views = _views.setdefault(connection, {})
    if native is not False:
        try:
            relation, plan = _relation(
                connection, snapshot, helper, with_row_ids=row_tracking, reads_small_files=native is True
            )
            _show_files(connection, name, helper, relation, plan)
        except BeyondDuckDBError:
            if native is True:
                raise
        else:
            files = plan.files.select(["path", "size", "deletion_vector"])
            parts = None if relation.parts is None else relation.parts.drop_columns("keep")
            views[name] = ShownFiles(snapshot, helper, files, relation.branches, relation.part_names, parts)
            return
    dataset = _dataset("DatasetForDuckDB")(snapshot, with_row_ids=row_tracking)
    _show_dataset(connection, name, helper, dataset)
    views[name] = dataset


def _show_changes(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    helper: str,
    feed: "ChangeDataset",
    *,
    native: Native,
    row_tracking: bool,
) -> None:
    if native is True:
        raise BeyondDuckDBError("a change data feed is read through Arrow", feature="changeDataFeed")
    if row_tracking:
        raise UnsupportedFeatureError("a change data feed has no row ids", feature="rowTracking")
    _show_dataset(connection, name, helper, _dataset("ChangesForDuckDB").of(feed))
    _views.get(connection, {}).pop(name, None)


def _show_files(
    connection: duckdb.DuckDBPyConnection, name: str, helper: str, relation: Relation, plan: ScanPlan
) -> None:
    create_parts(connection, relation, helper)
    try:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {quote_identifier(name)} AS {relation.select}")
    except duckdb.Error as error:
        _drop(connection, [(name, "VARIABLE") for name in relation.variables])
        if relation.parts is not None:
            _drop(connection, [(helper, "TABLE")])
        failure = reader_failure(plan, error)
        if failure is None:
            raise
        raise failure from error


def create_parts(connection: duckdb.DuckDBPyConnection, relation: Relation, name: str) -> None:
    """Create the temporary table of files and set the variables that a relation reads, if any."""
    if relation.parts is not None:
        source = f"{name}:arrow"
        connection.register(source, relation.parts)
        try:
            connection.execute(relation.create_parts(source))
        finally:
            connection.unregister(source)
    for variable, value in relation.variables.items():
        connection.execute(f"SET VARIABLE {quote_identifier(variable)} = {value}")


def _show_dataset(
    connection: duckdb.DuckDBPyConnection, name: str, helper: str, dataset: "LogDataset"
) -> None:
    connection.register(helper, dataset)
    try:
        view = f"CREATE OR REPLACE TEMP VIEW {quote_identifier(name)} AS FROM {quote_identifier(helper)}"
        connection.execute(view)
    except duckdb.Error:
        connection.unregister(helper)
        raise


def query(table: TableSource, sql: str, name: str = "t") -> pa.RecordBatchReader:
    """Run a query over a table on a DuckDB connection of its own; return the rows as a stream.

    Args:
        table: a `DeltaTable`, a `Snapshot`, or a path or URI.
        sql: a query in DuckDB's SQL, in which the table is called `name`; times are in UTC.
        name: the name of the table in the query.

    Raises:
        duckdb.Error: DuckDB's own errors.
        CorruptDataFileError: a file is missing, broken, or contradicts the schema of the table.

    >>> import deltaarrow, tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> _ = deltaarrow.write_deltalake(folder, pa.table({"id": [1, 2]}))
    >>> query(deltaarrow.DeltaTable(folder), "SELECT max(id) AS newest FROM t").read_all().to_pylist()
    [{'newest': 2}]
    """
    return query_all({name: table}, sql)


def query_all(
    tables: Mapping[str, TableSource],
    sql: str,
    *,
    has_views: bool = False,
    options: Mapping[str, str] = _NONE,
) -> pa.RecordBatchReader:
    """Run a query over tables by name, as `query` does over one.

    Args:
        tables: the tables by their names in the query.
        sql: a query in DuckDB's SQL; times are in UTC.
        has_views: return string and binary columns as Arrow view types.
        options: settings of DuckDB.

    Raises:
        duckdb.Error: DuckDB's own errors.
        CorruptDataFileError: a file is missing, broken, or contradicts the schema of a table.
    """
    named = {name: snapshot_of(table) for name, table in tables.items()}
    connection = duckdb.connect(":memory:", config={**options})
    with contextlib.ExitStack() as failed:
        failed.callback(connection.close)
        connection.execute("SET TimeZone = 'UTC'")
        if has_views:
            connection.execute("SET arrow_output_version = '1.4'; SET produce_arrow_string_view = true")
        for name, snapshot in named.items():
            register(connection, name, snapshot)
        with _naming_damaged_files(*named.values()):
            reader = connection.sql(sql).to_arrow_reader()
        failed.pop_all()
    return pa.RecordBatchReader.from_batches(reader.schema, _and_close(reader, connection, *named.values()))


def _and_close(
    reader: pa.RecordBatchReader, connection: duckdb.DuckDBPyConnection, *snapshots: Snapshot
) -> Iterator[pa.RecordBatch]:
    with connection, _naming_damaged_files(*snapshots):
        yield from reader


@contextlib.contextmanager
def _naming_damaged_files(*snapshots: Snapshot) -> Iterator[None]:
    """Raise a `DeltaError` for a data file that DuckDB cannot read."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        is_named = type(error) is not duckdb.Error
        failure = None
        if not isinstance(error, DeltaError):
            failures = (reader_failure(plan_scan(each), error, is_named=is_named) for each in snapshots)
            failure = next((each for each in failures if each is not None), None)
        if failure is None:
            raise
        raise failure from error
