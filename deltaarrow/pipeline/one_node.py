"""Statements of Spark SQL in this process: MERGE of what a query of DuckDB finds, and those of the front end.

======================================  ==============================================================
in the query of a MERGE                 what it is
======================================  ==============================================================
``delta.`/data/t` ``                    the table, at one version for the whole statement
``table_changes_by_path('/t', 3, 5)``   the change data feed of versions 3 to 5, or from 3 on if only
                                        that is given, as in Spark
``table_changes_by_path('/t')``         what is new in the table since the last MERGE of this application
                                        into the target; at the first one, all rows, as inserts
``is_incremental()``                    FALSE where that is the first MERGE, else TRUE
======================================  ==============================================================

The application is named as for delta-spark, by ``SET spark.databricks.delta.write.txnAppId = name``. The
version up to which a MERGE took in changes is part of its commit, the version of the application in the log
of the target. So each change is taken in once, whatever stops when: who starts again goes on after it, and
of two at once, one is refused and finds nothing new when it tries again.

Everything else in the query is DuckDB's SQL; the conditions and values of the MERGE are Spark's.

All other statements are those of `deltaarrow.sql`, in Spark's dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deltaarrow.engines import PLACES, DeltaConnection
from deltaarrow.errors import CommitFailedError, DeltaError, UnsupportedFeatureError
from deltaarrow.operations import CommitProperties, Transaction
from deltaarrow.pipeline.engine import MergeReport, StatementReport
from deltaarrow.pipeline.maintenance import report_on
from deltaarrow.schema import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeType
from deltaarrow.spark_sql import FunctionCall, Words, function_calls, table_places
from deltaarrow.sql import connect
from deltaarrow.sql.handlers.rows import merge_into
from deltaarrow.sql.places import show_place
from deltaarrow.sql.registry import find_kind, kind_of
from deltaarrow.sql.session import Session
from deltaarrow.sql.settings import APPLICATION
from deltaarrow.sql.spark_grammar.rows import parse_merge
from deltaarrow.sql.statements.rows import Merge
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OneNodeEngine"]

_CHANGES = "table_changes_by_path"
_IS_INCREMENTAL = "is_incremental"


class OneNodeEngine:
    """Runs statements in this process, with DuckDB and the methods of `DeltaTable`."""

    def __init__(self) -> None:
        self._session = Session(connect(dialect="spark"))

    def run(self, statement: str) -> StatementReport | None:
        """Run one statement.

        Raises:
            UnsupportedFeatureError: it is no statement of Spark SQL that one node runs.
            TableNotFoundError: there is no table at a path.
            DeltaError: what the methods of `DeltaTable` raise that the statement stands for.
            duckdb.Error: the query of the MERGE is none.
        """
        words = Words(statement)
        if words.is_at("MERGE"):
            return _Merge.of(parse_merge(words), self._session.settings[APPLICATION]).run()
        kind = find_kind(words, "spark")
        if kind is None or kind.spark is None:
            raise words.refused("a statement that one node runs, such as MERGE or OPTIMIZE, is expected")
        self._session.dialect = "spark"
        try:
            parsed = kind.spark(words)
            with self._session.running():
                return report_on(parsed, kind_of(parsed).handle(self._session, parsed))
        except DeltaError as error:
            show_place(error, words)
            raise

    def is_conflict(self, error: Exception) -> bool:
        """Whether another writer of the table was quicker than a statement."""
        return isinstance(error, CommitFailedError)


@dataclass
class _Merge:
    """One MERGE on its way: what it reads is opened first, so that all of it is at one version each."""

    statement: Merge
    path: str
    target: DeltaTable
    application: str | None
    tables: dict[str, DeltaTable] = field(default_factory=dict)

    @classmethod
    def of(cls, statement: Merge, application: str | None) -> "_Merge":
        schema, *path = statement.table.parts
        if schema.lower() != PLACES or len(path) != 1:
            raise UnsupportedFeatureError(
                f"MERGE INTO {statement.table.text} names no place: on one node, name the table by its path,"
                " as delta.`/data/orders`",
                feature="MERGE",
            )
        return cls(statement, path[0], DeltaTable(path[0]), application)

    def run(self) -> MergeReport:
        followed = self._followed()
        if followed is None:
            return self._merged({}, None, None)
        if self.application is None:
            raise UnsupportedFeatureError(
                f"{_CHANGES}('{followed}') goes on where an application stopped, and none is named: put"
                f" SET {APPLICATION.name} = name before the MERGE, or give the versions that are wanted",
                feature=_CHANGES,
            )
        seen, last = self.target.transaction_version(self.application), self._table(followed).version()
        first = 0 if seen is None else seen + 1
        if first > last:
            return MergeReport(self.path, {followed: (first, last)}, None)
        return self._merged({followed: (first, last)}, seen, Transaction(self.application, last))

    def _followed(self) -> str | None:
        """The path of the table whose new changes are taken in."""
        calls = function_calls(self.statement.source, _CHANGES)
        paths = {str(call.arguments[0]) for call in calls if len(call.arguments) == 1}
        if len(paths) > 1:
            raise UnsupportedFeatureError(
                f"a MERGE follows the changes of one table, and not of {len(paths)}: {sorted(paths)}",
                feature=_CHANGES,
            )
        return next(iter(paths), None)

    def _table(self, path: str) -> DeltaTable:
        if path not in self.tables:
            self.tables[path] = self.target if path == self.path else DeltaTable(path)
        return self.tables[path]

    def _merged(
        self, changes: Mapping[str, tuple[int, int]], seen: int | None, transaction: Transaction | None
    ) -> MergeReport:
        properties = None if transaction is None else CommitProperties(app_transactions=[transaction])
        metrics = merge_into(self.target, self.statement, self._rows(seen), properties)
        return MergeReport(self.path, changes, metrics)

    def _rows(self, seen: int | None) -> "pa.Table":
        """What the query finds."""
        with connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET python_enable_replacements = false")
            rows: pa.Table = connection.sql(self._query(connection, seen)).to_arrow_table()
        return rows

    def _query(self, connection: DeltaConnection, seen: int | None) -> str:
        """The query with names that the connection knows for the tables and functions of this module."""
        query = self.statement.source
        shown = _Shown(connection)
        edits: list[tuple[int, int, str]] = []
        for place in table_places(query):
            edits.append((place.start, place.end, shown.name(self._table(place.path))))
        for call in function_calls(query, _CHANGES):
            edits.append((call.start, call.end, self._changes(call, shown, seen)))
        for call in function_calls(query, _IS_INCREMENTAL):
            if self._followed() is None:
                raise UnsupportedFeatureError(
                    f"{_IS_INCREMENTAL}() is about {_CHANGES}('path'), which the query does not read",
                    feature=_IS_INCREMENTAL,
                )
            edits.append((call.start, call.end, "FALSE" if seen is None else "TRUE"))
        for start, end, replacement in sorted(edits, reverse=True):
            query = query[:start] + replacement + query[end:]
        return query

    def _changes(self, call: FunctionCall, shown: "_Shown", seen: int | None) -> str:
        """What stands for a change data feed in the query."""
        match call.arguments:
            case (str(path),):
                table = self._table(path)
                return (
                    _all_as_inserts(shown.name(table), table)
                    if seen is None
                    else shown.name(table.change_data_feed(seen + 1, table.version()))
                )
            case (str(path), int(first)):
                table = self._table(path)
                return shown.name(table.change_data_feed(first, table.version()))
            case (str(path), int(first), int(last)):
                return shown.name(self._table(path).change_data_feed(first, last))
        raise UnsupportedFeatureError(
            f"{_CHANGES} takes the path of a table and the first and last version, not {call.arguments}",
            feature=_CHANGES,
        )


class _Shown:
    """What a connection was shown, each under a name of its own."""

    def __init__(self, connection: DeltaConnection) -> None:
        self._connection = connection
        self._names: dict[int, tuple[str, Any]] = {}

    def name(self, source: Any) -> str:
        """The name of a table or a change data feed in queries."""
        if id(source) not in self._names:
            name = f"__deltaarrow_source_{len(self._names)}"
            self._connection.register(name, source)
            self._names[id(source)] = name, source
        return self._names[id(source)][0]


def _all_as_inserts(name: str, table: DeltaTable) -> str:
    """The rows of a table as a change data feed begins with them."""
    columns = (
        f"'{ChangeType.INSERT}' AS {CHANGE_TYPE}",
        f"{table.version()}::BIGINT AS {COMMIT_VERSION}",
        f"epoch_ms({table.snapshot.timestamp_ms})::TIMESTAMPTZ AS {COMMIT_TIMESTAMP}",
    )
    return f"(SELECT *, {', '.join(columns)} FROM {name})"
