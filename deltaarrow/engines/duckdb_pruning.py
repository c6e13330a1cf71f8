"""Statements over Delta tables put into ones over those data files that may matter to them.

Each table that a statement reads is replaced, in the text and by nothing else, with a subquery over the
files that its own conditions leave (`deltaarrow.engines.duckdb_references`), of the columns that the
statement mentions. So DuckDB plans over three files where a view would have it plan over the whole table,
which costs 5 to 9 microseconds a file. All conditions stay where they are, and DuckDB evaluates them.

A short list of files goes into the text, which then depends on nothing. Where a table of files is needed
beside it (partition values that differ, deleted rows), or the list is long, temporary objects are made;
they are kept for later statements, the last `_MOST_HELPERS` of them.
"""

import contextlib
import functools
import re
import secrets
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from deltaarrow.compute import quote_identifier
from deltaarrow.engines.duckdb import create_parts, planned_relation, register, unregister
from deltaarrow.engines.duckdb_catalog import PLACES, Catalog, may_name
from deltaarrow.engines.duckdb_references import (
    Reference,
    Settings,
    Statement,
    fold,
    parse_statement,
    qualified_names,
)
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Predicate
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import Explanation, ScanPlan, naming_damaged_files, plan_scan
from deltaarrow.scan.sql_columns import BeyondDuckDBError
from deltaarrow.snapshot import Snapshot

__all__ = ["Rewriter"]

_MOST_LISTED = 64
"""Files of a list that goes into the text: DuckDB parses it anew at each query."""
_MOST_HELPERS = 256
_MOST_PLANS = 64
_MOST_SNAPSHOTS = 16
_HELPER = "__deltaarrow"

_lazily = lazy_attributes(
    __name__,
    {
        "DatasetForDuckDB": "deltaarrow.engines.duckdb_dataset",
        "explain_scan": "deltaarrow.scan.explain",
    },
)

_MACRO = re.compile(r"\s*CREATE\b[^()]*\b(?:MACRO|FUNCTION)\b", re.IGNORECASE)
"""The beginning of a definition that DuckDB does not look into."""

_parsed = functools.lru_cache(maxsize=256)(parse_statement)
_qualified_names = functools.lru_cache(maxsize=256)(qualified_names)


@dataclass(frozen=True)
class _Use:
    """One reference of a statement to a Delta table, and what is needed of that."""

    reference: Reference
    snapshot: Snapshot
    predicate: Predicate | None
    columns: tuple[str, ...]


class _Opened:
    """What stands in FROM for a snapshot in use, by condition and columns.

    Beside each source are the name by which the temporary objects are kept that it may need, and its plan.
    """

    def __init__(self) -> None:
        self.sources: OrderedDict[Hashable, tuple[str, str, ScanPlan | None]] = OrderedDict()


class Rewriter:
    """What puts the statements of one DuckDB connection, or cursor, over the files of Delta tables."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
        self._connection = connection
        self._catalog = catalog
        self._opened: OrderedDict[Snapshot, _Opened] = OrderedDict()
        self._helpers: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._views: dict[str, Snapshot] = {}
        self.plans: list[ScanPlan] = []
        """What the statement that was rewritten last reads of Delta tables."""
        self._own: set[int] = set()
        """The numbers of all views that were made, which tell them from those of the caller."""
        self._hides_variables = False

    # --- statements ---

    def split(self, text: str) -> list[str]:
        """Return the statements of a text that names tables of the catalog; any other text as it is."""
        if ";" not in text.rstrip().rstrip(";") or not self._catalog.is_mentioned(fold(text)):
            return [text]
        try:
            return [statement.query for statement in self._connection.extract_statements(text)]
        except duckdb.Error:
            return [text]  # DuckDB says what is wrong with it when it is run.

    def rewrite(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> str:
        """Return one statement as DuckDB is to run it.

        Raises `TableNotFoundError` where no table is at a place, and what opening a table and planning
        a scan of it raise.
        """
        folded, self.plans = fold(text), []
        if "rollback" in folded or "abort" in folded:
            self.forget()
        self._hide_variables(False)
        if not self._catalog.is_mentioned(folded):
            return text
        statement = _parsed(text)
        edits: set[tuple[int, int, str]] = set()
        if statement is None or statement.is_definition:
            if statement is not None:
                self._ensure_lasting(statement)
            self.show_registered(folded)
        else:
            for name in self._catalog.pinned:
                if any(fold(name) in other for other in statement.others):
                    self.show_registered(fold(name))
            edits.update(self._edits(statement, parameters))
        if self._has_unknown_names(text, statement, edits):
            self._hide_variables(True)
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def _edits(
        self, statement: Statement, parameters: Sequence[Any] | Mapping[str, Any]
    ) -> Iterator[tuple[int, int, str]]:
        """What comes into the text of a statement, and in place of what."""
        for use in self._uses(statement, parameters):
            source = self._source(use)
            reference = use.reference
            alias = "" if reference.alias is not None else f" AS {quote_identifier(reference.names[-1])}"
            yield (*reference.span, source + alias)
            if len(reference.names) > 1:
                yield from ((*prefix, "") for prefix in statement.schema_prefixes(reference))

    def _has_unknown_names(
        self, text: str, statement: Statement | None, edits: Collection[tuple[int, int, str]]
    ) -> bool:
        """Whether a statement may name tables of the catalog that stay in its text as they are.

        DuckDB does not know them; where a variable of the caller is called as one, it would read that.
        """
        columns = frozenset[int]() if statement is None else statement.column_starts
        unknown = [
            name
            for name in _qualified_names(text, self._catalog.schemas)
            if name.start not in columns and not any(begin <= name.start < end for begin, end, _ in edits)
        ]
        if not unknown:
            return False
        hidden = self._schemas()
        unknown = [name for name in unknown if name.is_text or name.schema not in hidden]
        if _MACRO.match(text) and any(not name.is_text or "query" in fold(text) for name in unknown):
            raise _not_lasting("a table by its place or folder")
        return bool(unknown)

    def _hide_variables(self, hidden: bool) -> None:
        """Let DuckDB read no variable of the caller's as a table, or what the connection is set to again."""
        if self._hides_variables == hidden:
            return
        name = "python_enable_replacements"
        try:
            if hidden and not self._setting(name):
                return
            self._connection.execute(f"SET {name} = {not hidden}")
        except duckdb.TransactionException:
            return  # A transaction that failed takes nothing but its end.
        self._hides_variables = hidden

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Run a statement that was rewritten, and learn from the error if it fails."""
        try:
            yield
        except duckdb.TransactionException:
            self.forget()  # A commit that fails undoes the changes.
            raise
        except duckdb.CatalogException as error:
            if self._hides_variables:
                error.add_note(
                    "Tables by place or folder are known in SELECT, CREATE TABLE AS, INSERT ... SELECT and"
                    " COPY (SELECT ...) TO; register the table for another statement."
                )
            raise

    def explain(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Explanation]:
        """Return which files of the Delta tables in a statement are read, in the order of the text."""
        statement = _parsed(text)
        if statement is None:
            raise ValueError(f"a statement that reads tables is explained, not {text!r}")
        uses = sorted(self._uses(statement, parameters), key=lambda use: use.reference.span)
        return [_lazily("explain_scan")(use.snapshot, use.predicate, use.columns) for use in uses]

    def forget(self) -> None:
        """Rely on no temporary object any more: they may be gone with a transaction."""
        self._opened.clear()
        self._helpers.clear()
        self._views.clear()

    def show_registered(self, folded: str | None = None) -> None:
        """Make views of the registered tables that a text, folded, names, for what is not rewritten."""
        for name, snapshot in self._catalog.pinned.items():
            if folded is not None and not may_name(folded, name):
                continue
            if self._views.get(name) is snapshot or fold(name) in self._foreign():
                continue
            register(self._connection, name, snapshot)
            self._views[name] = snapshot
            self._own.add(self._temporary()[fold(name)])

    def drop_registered(self, name: str) -> None:
        """Drop the view of a registered table, if one was made."""
        self._views.pop(name, None)
        if self._temporary().get(fold(name)) in self._own:
            unregister(self._connection, name)

    # --- names ---

    def _temporary(self) -> dict[str, int]:
        """The temporary views and tables of the connection, by their names, folded."""
        rows = self._connection.execute(
            "SELECT view_name, view_oid FROM duckdb_views() WHERE temporary AND NOT internal"
            " UNION ALL SELECT table_name, table_oid FROM duckdb_tables() WHERE temporary"
        ).fetchall()
        return {fold(name): number for name, number in rows}

    def _foreign(self) -> set[str]:
        """The names, folded, of temporary views and tables that hide registered ones."""
        return {name for name, number in self._temporary().items() if number not in self._own}

    def _schemas(self) -> set[str]:
        """The names, folded, of schemas and databases that hide those of the catalog."""
        rows = self._connection.execute(
            "SELECT schema_name FROM duckdb_schemas() UNION SELECT database_name FROM duckdb_databases()"
        ).fetchall()
        return {fold(name) for (name,) in rows}

    def is_schema(self, name: str) -> bool:
        """Whether DuckDB has a schema or a database of a name."""
        return fold(name) in self._schemas()

    def _settings(self) -> Settings:
        return Settings(str(self._setting("TimeZone")), bool(self._setting("default_collation")))

    def _setting(self, name: str) -> Any:
        return self._connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]

    def _ensure_lasting(self, statement: Statement) -> None:
        for reference in statement.references:
            if self._catalog.schema_of(reference.names) is not None:
                raise _not_lasting(".".join(map(quote_identifier, reference.names)))

    def _uses(self, statement: Statement, parameters: Sequence[Any] | Mapping[str, Any]) -> Iterator[_Use]:
        """The references to Delta tables, each table at one version."""
        found: dict[tuple[str, ...], Snapshot | None] = {}
        hidden: dict[bool, set[str]] = {}
        settings = None
        for reference in statement.references:
            is_pinned = self._catalog.is_pinned(reference.names)
            schema = self._catalog.schema_of(reference.names)
            if not is_pinned and schema is None:
                continue
            if is_pinned not in hidden:
                hidden[is_pinned] = self._foreign() if is_pinned else self._schemas()
            if fold(reference.names[0]) in hidden[is_pinned]:
                continue
            key = reference.names if schema == PLACES else tuple(map(fold, reference.names))
            if key not in found:
                found[key] = self._catalog.find(reference.names)
            snapshot = found[key]
            if snapshot is None:
                continue
            settings = self._settings() if settings is None else settings
            predicate = statement.condition(reference, snapshot.schema, parameters, settings)
            columns = statement.columns(reference, snapshot.schema)
            if set(columns) <= set(snapshot.partition_columns):
                columns = snapshot.schema.names  # DuckDB reads no file without one of its columns.
            yield _Use(reference, snapshot, predicate, tuple(columns))

    # --- sources ---

    def _source(self, use: _Use) -> str:
        """What stands in FROM for a table: a subquery, or the name of a view."""
        opened = self._open(use.snapshot)
        key = use.predicate, use.columns
        if key not in opened.sources:
            opened.sources[key] = self._planned(use, opened)
            if len(opened.sources) > _MOST_PLANS:
                opened.sources.popitem(last=False)
        opened.sources.move_to_end(key)
        source, helper, plan = opened.sources[key]
        if plan is not None:
            self.plans.append(plan)
        if helper in self._helpers:
            # What one table of a statement needs is not what goes for the next.
            self._helpers.move_to_end(helper)
        return source

    def _open(self, snapshot: Snapshot) -> _Opened:
        if snapshot not in self._opened:
            self._opened[snapshot] = _Opened()
            if len(self._opened) > _MOST_SNAPSHOTS:
                self._opened.popitem(last=False)
        self._opened.move_to_end(snapshot)
        return self._opened[snapshot]

    def _planned(self, use: _Use, opened: _Opened) -> tuple[str, str, ScanPlan]:
        if not use.columns:
            raise UnsupportedFeatureError("DuckDB has no relation without columns", feature="empty schema")
        plan = plan_scan(use.snapshot, use.predicate, use.columns)
        parts = f"{_HELPER}:parts:{secrets.token_hex(8)}"
        try:
            relation = planned_relation(self._connection, plan, parts)
        except BeyondDuckDBError:
            return *self._dataset(use.snapshot, opened), plan
        create_parts(self._connection, relation, parts)
        drops = [f"RESET VARIABLE {quote_identifier(name)}" for name in relation.variables]
        if relation.parts is not None:
            drops.append(f"DROP TABLE IF EXISTS temp.main.{quote_identifier(parts)}")
        source = f"({relation.select})"
        if plan.files.num_rows > _MOST_LISTED:
            source = quote_identifier(f"{parts}:view")
            with naming_damaged_files(plan):
                self._connection.execute(f"CREATE TEMP VIEW {source} AS {relation.select}")
            drops.append(f"DROP VIEW IF EXISTS temp.main.{source}")
        if drops:
            self._keep(parts, drops)
        return source, parts, plan

    def _dataset(self, snapshot: Snapshot, opened: _Opened) -> tuple[str, str]:
        """The Arrow dataset, which is asked with the columns and filters of each query."""
        if "dataset" not in opened.sources:
            name = f"{_HELPER}:dataset:{secrets.token_hex(8)}"
            self._connection.register(name, _lazily("DatasetForDuckDB")(snapshot))
            self._keep(name, [f"DROP VIEW IF EXISTS temp.main.{quote_identifier(name)}"])
            opened.sources["dataset"] = quote_identifier(name), name, None
        return opened.sources["dataset"][:2]

    def _keep(self, helper: str, drops: Sequence[str]) -> None:
        """Keep temporary objects that go by one name, and let go of the oldest where there are many."""
        self._helpers[helper] = drops
        if len(self._helpers) > _MOST_HELPERS:
            oldest, drops = self._helpers.popitem(last=False)
            for opened in self._opened.values():
                for key in [key for key, (_, helper, _) in opened.sources.items() if helper == oldest]:
                    del opened.sources[key]
            for drop in drops:
                self._connection.execute(drop)


def _not_lasting(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"DuckDB keeps the text of a view or macro, and does not know {name}: register the table",
        feature="views over places",
    )
