"""Rewriting of statements over Delta tables into statements over the data files they need.

Each table that a statement reads is replaced in its text by a subquery over the files that the table's own
conditions keep (`deltaarrow.engines.duckdb.table_references`), with the columns that the statement mentions.
So DuckDB plans for three files instead of the whole table, at 5 to 9 microseconds per file. All conditions
stay in place, and DuckDB evaluates them.

A short list of files goes into the text, which then needs nothing else. If a table of files is needed as well
(differing partition values, deleted rows) or the list is long, temporary objects are created; the last
256 of them are kept for later statements.
"""

import contextlib
import functools
import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
from cachetools import LRUCache

from deltaarrow.catalogs import View, fold
from deltaarrow.compute import quote_identifier
from deltaarrow.engines.duckdb.table_names import PLACES, Catalog, may_name
from deltaarrow.engines.duckdb.table_references import (
    Reference,
    Settings,
    Statement,
    parse_statement,
    qualified_names,
)
from deltaarrow.engines.duckdb.time_travel import CHANGES, INSPECTIONS, SCAN, Call, Travel
from deltaarrow.engines.duckdb.uses import Source, Sources, Use, with_data_columns
from deltaarrow.engines.duckdb.view import create_parts, planned_relation, register, unregister
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError
from deltaarrow.expressions import Column, Predicate
from deltaarrow.log.version_arguments import parse_moment
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import (
    METADATA,
    Explanation,
    ScanPlan,
    metadata_of,
    naming_damaged_files,
    plan_changes,
    plan_scan,
    resolve_versions,
)
from deltaarrow.scan.sql.file_columns import BeyondDuckDBError
from deltaarrow.schema import DataType, StructType
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Inspect", "Rewriter"]

_MOST_LISTED = 64
"""The longest list of files put into the text, which DuckDB parses at each query."""
_MOST_PLANS = 64
_MOST_SNAPSHOTS = 16
_HELPER = "__deltaarrow"

_lazily = lazy_attributes(
    __name__,
    {
        "ChangesForDuckDB": "deltaarrow.engines.duckdb.arrow_datasets",
        "DatasetForDuckDB": "deltaarrow.engines.duckdb.arrow_datasets",
        "Words": "deltaarrow.spark_sql",
        "explain_scan": "deltaarrow.scan.explanation",
        "ensure_storable": "deltaarrow.engines.duckdb.stored_views",
        "unknown_table": "deltaarrow.engines.duckdb.unknown_names",
    },
)

_MACRO = re.compile(r"\s*CREATE\b[^()]*\b(?:MACRO|FUNCTION)\b", re.IGNORECASE)
"""The beginning of a definition whose body DuckDB does not check."""

Inspect: TypeAlias = Callable[[str, Snapshot], "pa.Table"]
"""Returns what one of `INSPECTIONS` says of a table."""

_parsed = functools.lru_cache(maxsize=256)(parse_statement)


class Rewriter:
    """Rewrites the statements of one DuckDB connection or cursor to read files of Delta tables.

    Temporary objects for the last `most_helpers` sources are kept. `inspect` gives the rows of `INSPECTIONS`.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        catalog: Catalog,
        most_helpers: int = 256,
        *,
        inspect: Inspect | None = None,
    ) -> None:
        self._connection = connection
        self._inspect = inspect
        self._catalog = catalog
        self._sources: LRUCache[Snapshot, Sources] = LRUCache(_MOST_SNAPSHOTS)
        self._helpers: LRUCache[str, Sequence[str]] = LRUCache(most_helpers)
        self._views: dict[str, Snapshot] = {}
        self.plans: list[ScanPlan] = []
        """The plans of the Delta tables that the last rewritten statement reads."""
        self._own: set[int] = set()
        """The ids of all views created here, to tell them from the caller's."""
        self._hides_variables = False
        self._functions: frozenset[str] | None = None
        self._shown: list[str] = []
        """The queries of the views that are being rewritten, each in the one before."""

    # --- statements ---

    def split(self, text: str) -> list[str]:
        """Return the statements of a text that names catalog tables; any other text is returned whole."""
        if ";" not in text.rstrip().rstrip(";") or not self._catalog.is_mentioned(fold(text)):
            return [text]
        try:
            return [statement.query for statement in self._connection.extract_statements(text)]
        except duckdb.Error:
            return [text]  # DuckDB reports the error when it runs the text.

    def rewrite(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> str:
        """Return one statement as DuckDB is to run it.

        Raises `TableNotFoundError` for a path without a table, and the errors of opening a table and planning
        a scan.
        """
        folded, self.plans = fold(text), []
        if "rollback" in folded or "abort" in folded:
            self.forget()
        self._hide_variables(False)
        if not self._catalog.is_mentioned(folded):
            return text
        statement = _parsed(text)
        return self._rewritten(text, statement, parameters)

    def _rewritten(
        self, text: str, statement: Statement | None, parameters: Sequence[Any] | Mapping[str, Any]
    ) -> str:
        edits: set[tuple[int, int, str]] = set()
        if statement is None or statement.is_definition:
            if statement is not None:
                self._ensure_lasting(statement)
            self.show_registered(fold(text))
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
        """The replacements in the text of a statement: start, end and new text."""
        for reference, view in self._viewed(statement):
            alias = "" if reference.alias is not None else f" AS {quote_identifier(reference.names[-1])}"
            yield (*reference.span, self._shown_view(view) + alias)
        for use in self._uses(statement, parameters):
            source = self._source(use)
            reference = use.reference
            if reference.special is not None and reference.special.placeholders:
                # DuckDB refuses values of parameters that are not in the text.
                asked = (f"{text} IS NOT NULL" for text in reference.special.placeholders.values())
                source = f"(FROM {source} WHERE {' AND '.join(asked)})"
            alias = "" if reference.alias is not None else f" AS {quote_identifier(reference.names[-1])}"
            yield (*reference.span, source + alias)
            if len(reference.names) > 1:
                yield from ((*prefix, "") for prefix in statement.schema_prefixes(reference))

    def _has_unknown_names(
        self, text: str, statement: Statement | None, edits: Collection[tuple[int, int, str]]
    ) -> bool:
        """Whether a statement may name catalog tables that the rewriting leaves in its text.

        DuckDB does not know them; it would read a variable of the caller with that name instead.
        """
        columns = frozenset[int]() if statement is None else statement.column_starts
        unknown = [
            name
            for name in qualified_names(text, self._catalog.schemas, statement)
            if name.start not in columns and not any(begin <= name.start < end for begin, end, _ in edits)
        ]
        if not unknown:
            return False
        hidden = self._hiding(2)
        unknown = [name for name in unknown if name.is_text or name.schema not in hidden]
        if _MACRO.match(text) and any(not name.is_text or "query" in fold(text) for name in unknown):
            raise _not_lasting("a table by its place or folder")
        return bool(unknown)

    def _hide_variables(self, hidden: bool) -> None:
        """Stop DuckDB from reading the caller's variables as tables, or restore the connection's setting."""
        if self._hides_variables == hidden:
            return
        name = "python_enable_replacements"
        try:
            if hidden and not self._setting(name):
                return
            self._connection.execute(f"SET {name} = {not hidden}")
        except duckdb.TransactionException:
            return  # A failed transaction accepts only its end.
        self._hides_variables = hidden

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Run a rewritten statement; if it fails, forget temporary objects and explain the error."""
        try:
            yield
        except duckdb.TransactionException:
            self.forget()  # A failed commit undoes the changes.
            raise
        except duckdb.CatalogException as error:
            if self._hides_variables:
                error.add_note(
                    "Tables named by path or folder work in SELECT, CREATE TABLE AS, INSERT ... SELECT and"
                    " COPY (SELECT ...) TO; for other statements, register the table."
                )
            raise

    def explain(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Explanation]:
        """Return the files that a statement reads of its Delta tables, in the order of the text.

        Feeds of changes, and functions about a table, are left out.
        """
        statement = _parsed(text)
        if statement is None:
            raise ValueError(f"explain takes a statement that reads tables, not {text!r}")
        found = list[tuple[tuple[int, int], list[Explanation]]]()
        for use in self._uses(statement, parameters):
            if use.changes is None and use.inspection is None:
                explained = _lazily("explain_scan")(use.snapshot, use.predicate, use.columns)
                found.append((use.reference.span, [explained]))
        for reference, view in self._viewed(statement):
            found.append((reference.span, self.explain(view.query)))
        return [each for _, explained in sorted(found, key=lambda part: part[0]) for each in explained]

    def forget(self) -> None:
        """Stop using existing temporary objects: a transaction may have removed them."""
        self._sources.clear()
        self._helpers.clear()
        self._views.clear()

    def show_registered(self, folded: str | None = None) -> None:
        """Create views for the registered tables that a case-folded text names, if it is not rewritten."""
        for name, snapshot in self._catalog.pinned.items():
            if folded is not None and not may_name(folded, name):
                continue
            if self._views.get(name) is snapshot or fold(name) in self._foreign():
                continue
            register(self._connection, name, snapshot)
            self._views[name] = snapshot
            self._own.add(self._temporary()[fold(name)])

    def drop_registered(self, name: str) -> None:
        """Drop the view of a registered table, if there is one."""
        self._views.pop(name, None)
        if self._temporary().get(fold(name)) in self._own:
            unregister(self._connection, name)

    # --- names ---

    def _temporary(self) -> dict[str, int]:
        """The temporary views and tables of the connection, by case-folded name."""
        rows = self._connection.execute(
            "SELECT view_name, view_oid FROM duckdb_views() WHERE temporary AND NOT internal"
            " UNION ALL SELECT table_name, table_oid FROM duckdb_tables() WHERE temporary"
        ).fetchall()
        return {fold(name): number for name, number in rows}

    def _foreign(self) -> set[str]:
        """The case-folded names of temporary views and tables that hide registered ones."""
        return {name for name, number in self._temporary().items() if number not in self._own}

    def _hiding(self, num_parts: int) -> set[str]:
        """The case-folded first parts of names of so many parts that are DuckDB's: schemas or databases."""
        if num_parts == 1:
            return self._foreign()
        schemas = "UNION SELECT schema_name FROM duckdb_schemas()" if num_parts == 2 else ""
        rows = self._connection.execute(f"SELECT database_name FROM duckdb_databases() {schemas}").fetchall()
        return {fold(name) for (name,) in rows}

    def is_schema(self, name: str) -> bool:
        """Whether DuckDB has a schema or database of this name."""
        return fold(name) in self._hiding(2)

    def needs(
        self, text: str, view: str, schema: StructType, parameters: Mapping[str, Any]
    ) -> tuple[Predicate | None, list[str]]:
        """Return the predicate and the columns that a statement needs of a view, as of a Delta table."""
        statement, reference = self._only(text, view)
        if statement is None or reference is None:
            return None, schema.names
        return (
            statement.condition(reference, schema, parameters, self._settings()),
            statement.columns(reference, schema, self._built_in_functions),
        )

    def equated(
        self, text: str, view: str, schema: StructType, other: str
    ) -> list[tuple[Column, DataType, str]]:
        """Return the columns of a view whose rows a statement needs only if they equal a column of `other`.

        With each comes its type, and the name of the column there.
        """
        statement, reference = self._only(text, view)
        if statement is None or reference is None or self._settings().has_collation:
            return []
        found = statement.equated(reference, schema)
        return [(column, kind, name) for (column, kind), table, name in found if table == fold(other)]

    def _only(self, text: str, view: str) -> tuple[Statement | None, Reference | None]:
        """A statement, and the one place where it names a view."""
        statement = _parsed(text)
        found = [] if statement is None else [each for each in statement.references if each.names == (view,)]
        return statement, found[0] if len(found) == 1 else None

    def is_hidden(self, names: Sequence[str]) -> bool:
        """Whether DuckDB has a temporary table, schema or database of a name's first part.

        A database may be called ``delta``. What stands behind that and has a ``/`` stays a path.
        """
        if _is_path(names):
            return False
        return fold(names[0]) in self._hiding(len(names))

    def _settings(self) -> Settings:
        return Settings(str(self._setting("TimeZone")), bool(self._setting("default_collation")))

    def _built_in_functions(self) -> frozenset[str]:
        """The case-folded names of DuckDB's own functions."""
        if self._functions is None:
            rows = self._connection.execute(
                "SELECT DISTINCT function_name FROM duckdb_functions() WHERE internal"
            ).fetchall()
            self._functions = frozenset(fold(name) for (name,) in rows)
        return self._functions

    def _setting(self, name: str) -> Any:
        return self._connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]

    def _ensure_lasting(self, statement: Statement) -> None:
        for reference in statement.references:
            is_called = isinstance(reference.special, Call)
            if is_called or self._catalog.schema_of(reference.names) is not None:
                raise _not_lasting(".".join(map(quote_identifier, reference.names)))

    def _uses(self, statement: Statement, parameters: Sequence[Any] | Mapping[str, Any]) -> Iterator[Use]:
        """The references to Delta tables, with one version per table unless the statement says it."""
        found: dict[Hashable, Snapshot | None] = {}
        hidden: dict[int, set[str]] = {}
        settings = None
        for reference in statement.references:
            special, names, at = reference.special, reference.names, None
            if special is None and self._catalog.view(names) is not None:
                continue
            values = {} if special is None else statement.values(parameters)
            if isinstance(special, Call):
                names = self._called(special, values)
                at = None if special.travel is None else special.travel.resolve(values, self._value)
            is_pinned = self._catalog.is_pinned(names)
            schema = self._catalog.schema_of(names)
            is_unknown = not is_pinned and schema is None and not isinstance(special, Call)
            if is_unknown and not self._catalog.is_of_another(names):
                continue
            if len(names) not in hidden:
                hidden[len(names)] = self._hiding(len(names))
            if fold(names[0]) in hidden[len(names)] and not isinstance(special, Call) and not _is_path(names):
                continue
            if isinstance(special, Travel):
                at = special.resolve(values, self._value)
            key = names if schema == PLACES else tuple(map(fold, names)), at
            if key not in found:
                found[key] = self._catalog.find(names, at)
            snapshot = found[key]
            if snapshot is None:
                if isinstance(special, Call):
                    raise TableNotFoundError(f"{special.name}: there is no table {'.'.join(names)}")
                if len(names) > 1:
                    raise _lazily("unknown_table")(self._catalog, names)
                continue
            if isinstance(special, Call) and special.name in INSPECTIONS:
                yield Use(reference, snapshot, None, (), inspection=special.name)
                continue
            if isinstance(special, Call) and special.name != SCAN:
                yield self._changes(reference, snapshot, special, values)
                continue
            settings = self._settings() if settings is None else settings
            predicate = statement.condition(reference, snapshot.schema, parameters, settings)
            columns = statement.columns(reference, snapshot.schema, self._built_in_functions)
            if set(columns) <= set(snapshot.partition_columns):
                columns = with_data_columns(columns, snapshot)
            metadata = metadata_of(snapshot) if statement.reads(reference, METADATA) else None
            limit = statement.most_rows(reference, parameters) if snapshot.may_limit_files else None
            yield Use(reference, snapshot, predicate, tuple(columns), metadata=metadata, limit=limit)

    def _changes(
        self, reference: Reference, snapshot: Snapshot, call: Call, values: Mapping[str, Any]
    ) -> Use:
        first, last = call.bounds(values)
        newest = snapshot.update()
        versions = resolve_versions(
            newest,
            first if isinstance(first, int) else None,
            last if isinstance(last, int) else None,
            parse_moment(first, later=True) if isinstance(first, str) else None,
            parse_moment(last) if isinstance(last, str) else None,
        )
        return Use(reference, newest, None, (), versions)

    def _called(self, call: Call, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The name of the table that a call is about: its place, or a name that the connection knows."""
        text = call.text(values)
        if call.name not in (CHANGES, *INSPECTIONS):
            return PLACES, text
        try:
            words = _lazily("Words")(text, "duckdb")
            names: tuple[str, ...] = words.table_name().parts
            words.expect_end()
        except UnsupportedFeatureError:
            if call.name == CHANGES:
                raise
            return PLACES, text
        return names if call.name == CHANGES or self._catalog.locate(names) is not None else (PLACES, text)

    def _value(self, query: str) -> Any:
        return self._connection.execute(query).fetchall()[0][0]

    def reads_tables(self, query: str) -> bool:
        """Whether a query reads Delta tables, or views over them; False for what cannot be parsed."""
        statement = _parsed(query)
        if statement is None:
            return False
        return any(True for _ in self._viewed(statement)) or any(True for _ in self._uses(statement, ()))

    def _viewed(self, statement: Statement) -> Iterator[tuple[Reference, View]]:
        """The references to views over Delta tables."""
        if not self._catalog.has_views:
            return
        for reference in statement.references:
            view = None if reference.special is not None else self._catalog.view(reference.names)
            if view is not None and not self.is_hidden(reference.names):
                yield reference, view

    # --- sources ---

    def _shown_view(self, view: View) -> str:
        """The name of a view of DuckDB over the files that a view over Delta tables needs now.

        It is no subquery, in which names of the statement around it would count.
        """
        statement = _parsed(view.query)
        if statement is None:
            raise UnsupportedFeatureError(f"the view {view.name} is no query", feature="views")
        if view.query in self._shown:
            raise UnsupportedFeatureError(
                f"[RECURSIVE_VIEW] the view {view.name} reads itself", feature="views"
            )
        self._shown.append(view.query)
        try:
            with self._catalog.within(view.namespace):
                if not any(each is view for each in self._catalog.views):
                    _lazily("ensure_storable")(view, self._catalog, self._connection)
                text = self._rewritten(view.query, statement, ())
        finally:
            self._shown.pop()
        name = f"{_HELPER}:shown:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        if name not in self._helpers:
            hidden = self._hides_variables
            self._hide_variables(True)  # a name in the view is never that of a variable
            try:
                self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {quote_identifier(name)} AS {text}")
            except duckdb.CatalogException as error:
                why = str(error).partition("\n")[0]
                raise TableNotFoundError(f"the view {view.name} reads what is not there: {why}") from error
            finally:
                self._hide_variables(hidden)
            self._keep(name, [f"DROP VIEW IF EXISTS temp.main.{quote_identifier(name)}"])
        self._is_kept(name)
        return quote_identifier(name)

    def _source(self, use: Use) -> str:
        """The replacement of a table in FROM: a subquery, or the name of a view."""
        sources = self._sources_of(use.snapshot)
        key = use.predicate, use.columns, use.changes, use.metadata, use.inspection, use.limit
        found = sources.get(key)
        if found is None or not self._is_kept(found.helper):
            planned = self._planned if use.changes is None else self._fed
            planned = planned if use.inspection is None else self._inspected
            found = sources[key] = planned(use)
        if found.plan is not None:
            self.plans.append(found.plan)
        return found.text

    def _sources_of(self, snapshot: Snapshot) -> Sources:
        found = self._sources.get(snapshot)
        if found is None:
            found = self._sources[snapshot] = LRUCache(_MOST_PLANS)
        return found

    def _planned(self, use: Use) -> Source:
        if not use.columns:
            raise UnsupportedFeatureError(
                "the table has no columns, which DuckDB needs", feature="empty schema"
            )
        plan = plan_scan(use.snapshot, use.predicate, use.columns, use.metadata, limit=use.limit)
        parts = f"{_HELPER}:parts:{secrets.token_hex(8)}"
        try:
            relation = planned_relation(self._connection, plan, parts)
        except BeyondDuckDBError as error:
            if use.metadata is not None:
                raise UnsupportedFeatureError(
                    f"{METADATA} of this table cannot be read: {error}", feature=METADATA
                ) from error
            return self._dataset(use.snapshot)._replace(plan=plan)
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
        if not drops:
            return Source(source, None, plan)
        self._keep(parts, drops)
        return Source(source, parts, plan)

    def _dataset(self, snapshot: Snapshot) -> Source:
        """The Arrow dataset, to which DuckDB passes the columns and filters of each query."""
        sources = self._sources_of(snapshot)
        found = sources.get("dataset")
        if found is None or not self._is_kept(found.helper):
            found = sources["dataset"] = self._registered(_lazily("DatasetForDuckDB")(snapshot))
        return found

    def _fed(self, use: Use) -> Source:
        """The changes of some versions as a dataset, to which DuckDB passes columns and filters."""
        assert use.changes is not None
        feed = _lazily("ChangesForDuckDB")(plan_changes(use.snapshot, use.changes))
        return self._registered(feed)

    def _inspected(self, use: Use) -> Source:
        """What the log says of a table, as an Arrow table."""
        assert use.inspection is not None
        if self._inspect is None:
            raise UnsupportedFeatureError(
                f"{use.inspection} needs a connection of deltaarrow.connect", feature=use.inspection
            )
        return self._registered(self._inspect(use.inspection, use.snapshot))

    def _registered(self, dataset: Any) -> Source:
        name = f"{_HELPER}:dataset:{secrets.token_hex(8)}"
        self._connection.register(name, dataset)
        self._keep(name, [f"DROP VIEW IF EXISTS temp.main.{quote_identifier(name)}"])
        return Source(quote_identifier(name), name)

    def _keep(self, helper: str, drops: Sequence[str]) -> None:
        """Keep temporary objects under one name; drop those used longest ago if there are too many."""
        while len(self._helpers) >= self._helpers.maxsize:
            for drop in self._helpers.popitem()[1]:
                self._connection.execute(drop)
        self._helpers[helper] = drops

    def _is_kept(self, helper: str | None) -> bool:
        """Whether temporary objects exist, which now count as used last; True if none are needed.

        So the objects for one table of a statement stay while the next table is planned.
        """
        return helper is None or self._helpers.get(helper) is not None


def _is_path(names: Sequence[str]) -> bool:
    """Whether a name says where a table is: ``delta.`/data/orders` ``."""
    return len(names) == 2 and fold(names[0]) == PLACES and "/" in names[1]


def _not_lasting(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"DuckDB stores the text of a view or macro, in which {name} would be unknown: register the table",
        feature="views over places",
    )
