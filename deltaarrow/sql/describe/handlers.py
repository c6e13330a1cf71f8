"""The handlers of statements about names and descriptions of tables and schemas, with Spark's results."""

import contextlib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from deltaarrow.catalogs import NamespaceCatalog, TableLocation, View, fold, named
from deltaarrow.compute import quote_identifier
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.display.redaction import redacted, without_secrets_of
from deltaarrow.errors import SchemaMismatchError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.features import FEATURE_PREFIX, properties
from deltaarrow.operations import clustering_columns
from deltaarrow.partitions import parse_partition_values
from deltaarrow.schema import Field, PrimitiveType, Schema, StructType
from deltaarrow.schema.metadata_keys import COMMENT_KEY, DEFAULT_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import TableName, parse_condition, spark_type_name
from deltaarrow.sql.create_text import create_table_text, quoted
from deltaarrow.sql.define.handlers import KINDS as DEFINITIONS
from deltaarrow.sql.define.new_table import namespace_of, unknown_schema
from deltaarrow.sql.define.statements import DropTable
from deltaarrow.sql.describe import duckdb
from deltaarrow.sql.describe.inspections import detail_of, spark_uri
from deltaarrow.sql.describe.spark import (
    SCHEMAS,
    parse_create_schema,
    parse_describe,
    parse_drop_schema,
    parse_set_catalog,
    parse_show,
    parse_use,
)
from deltaarrow.sql.describe.statements import (
    Attach,
    CreateSchema,
    DescribeDetail,
    DescribeHistory,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
    Detach,
    DropSchema,
    SetCatalog,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowPartitions,
    ShowProperties,
    ShowSchemas,
    ShowTables,
    ShowViews,
    Summarize,
    Use,
)
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_NOTHING = pa.table({})
_CATALOG = "spark_catalog"
_TEXT = pa.string()
_TIME = pa.timestamp("us", "UTC")
_TEXTS = pa.map_(_TEXT, _TEXT)
_DESCRIBED = ("col_name", "data_type", "comment")
_JOB = ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")
_HISTORY = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", _TIME),
        ("userId", _TEXT),
        ("userName", _TEXT),
        ("operation", _TEXT),
        ("operationParameters", _TEXTS),
        ("job", pa.struct([(name, _TEXT) for name in _JOB])),
        ("notebook", pa.struct([("notebookId", _TEXT)])),
        ("clusterId", _TEXT),
        ("readVersion", pa.int64()),
        ("isolationLevel", _TEXT),
        ("isBlindAppend", pa.bool_()),
        ("operationMetrics", _TEXTS),
        ("userMetadata", _TEXT),
        ("engineInfo", _TEXT),
    ]
)


def _texts(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> pa.Table:
    """A result whose columns are texts."""
    schema = pa.schema([(name, _TEXT) for name in names])
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


# --- schemas ---------------------------------------------------------------------------------------


def _is_of_catalog(session: "Session", parts: tuple[str, ...]) -> bool:
    """Whether the name of a schema says that it is of the one catalog, by its name or by Spark's for it."""
    name = getattr(session.connection.catalog.names, "name", None)
    known = {_CATALOG} if not isinstance(name, str) else {_CATALOG, fold(name)}
    return len(parts) == 2 and fold(parts[0]) in known


def _schema(session: "Session", parts: tuple[str, ...]) -> str:
    """The name of a schema, without that of the one catalog."""
    if _is_of_catalog(session, parts):
        return parts[1]
    if len(parts) > 1:
        raise UnsupportedFeatureError(
            f"{'.'.join(parts)} is no schema: there is one catalog, and its schemas have one name",
            feature="catalogs",
        )
    return parts[0]


def _use(session: "Session", statement: Use) -> "pa.Table | str":
    catalog = session.connection.catalog
    if session.dialect == "duckdb" and (
        len(statement.schema) > 1 or catalog.namespace(statement.schema[0]) is None
    ):
        catalog.current = None
        return statement.text
    is_catalog = len(statement.schema) == 1 and _is_of_catalog(session, (*statement.schema, ""))
    if is_catalog and catalog.namespace(statement.schema[0]) is None:
        return _NOTHING
    schema = _schema(session, statement.schema)
    namespace_of(session, schema)
    catalog.current = fold(schema)
    return _NOTHING


def _set_catalog(session: "Session", statement: SetCatalog) -> pa.Table:
    if not _is_of_catalog(session, (statement.catalog, "")):
        raise TableNotFoundError(
            f"[CATALOG_NOT_FOUND] there is no catalog {statement.catalog}: a connection has one,"
            f" {_CATALOG}, and deltaarrow.connect chooses it"
        )
    return _NOTHING


def _names(session: "Session") -> NamespaceCatalog:
    names = session.connection.catalog.names
    if names is None:
        raise UnsupportedFeatureError(
            "schemas are kept by a catalog, and the connection has none: give deltaarrow.connect a catalog,"
            " or attach a folder of tables",
            feature="catalogs",
        )
    return names


def _create_schema(session: "Session", statement: CreateSchema) -> "pa.Table | str":
    if session.dialect == "duckdb" and not _is_of_catalog(session, statement.schema):
        return statement.text
    schema = _schema(session, statement.schema)
    try:
        if session.connection.catalog.namespace(schema) is not None:
            raise FileExistsError(schema)
        with named():
            _names(session).create_namespace(schema)
    except FileExistsError:
        if not statement.if_not_exists:
            raise UnsupportedFeatureError(
                f"[SCHEMA_ALREADY_EXISTS] there is a schema {schema}; use CREATE SCHEMA IF NOT EXISTS",
                feature="CREATE SCHEMA",
            ) from None
    return _NOTHING


def _drop_schema(session: "Session", statement: DropSchema) -> "pa.Table | str":
    catalog = session.connection.catalog
    is_known = catalog.namespace(statement.schema[-1]) is not None and len(statement.schema) == 1
    if session.dialect == "duckdb" and not is_known and not _is_of_catalog(session, statement.schema):
        return statement.text
    schema = _schema(session, statement.schema)
    if catalog.namespace(schema) is None and statement.if_exists:
        return _NOTHING
    namespace = namespace_of(session, schema)
    names = _names(session)
    if names.namespace(schema) is None:
        raise UnsupportedFeatureError(
            f"{schema} is an attached folder: DETACH it, or delete the folder", feature="DROP SCHEMA"
        )
    if getattr(names, "has_fixed_namespaces", False):
        names.drop_namespace(schema)  # refuses, before tables are dropped
    tables, views = namespace.tables(), namespace.views()
    if (tables or views) and not statement.cascades:
        raise _not_empty(schema, [*tables, *views])
    for view in views:
        with contextlib.suppress(KeyError):  # another process has dropped it
            namespace.remove_view(view)
    drop = next(kind.handle for kind in DEFINITIONS if kind.statement is DropTable)
    for table in tables:
        drop(session, DropTable(TableName((schema, table)), if_exists=True))
    try:
        names.drop_namespace(schema)
    except KeyError:
        raise unknown_schema(session, schema) from None  # another process has dropped it
    except ValueError as error:  # another process has made a table meanwhile
        raise _not_empty(schema, [*namespace.tables(), *namespace.views()]) from error
    if catalog.current == fold(schema):
        catalog.current = None
    return _NOTHING


def _not_empty(schema: str, names: Sequence[str]) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"[SCHEMA_NOT_EMPTY] the schema {schema} has tables: {', '.join(names)}; drop them first, or use"
        " CASCADE",
        feature="DROP SCHEMA",
    )


def _show_schemas(session: "Session", statement: ShowSchemas) -> pa.Table:
    names = session.connection.catalog.namespaces()
    return _texts(["namespace"], [[name] for name in _matching(names, statement.pattern)])


def _show_catalogs(session: "Session", statement: ShowCatalogs) -> pa.Table:
    return _texts(["catalog"], [[name] for name in _matching([_CATALOG], statement.pattern)])


def _show_current_namespace(session: "Session", statement: ShowCurrentNamespace) -> pa.Table:
    return _texts(["catalog", "namespace"], [[_CATALOG, session.connection.catalog.current]])


def _describe_schema(session: "Session", statement: DescribeSchema) -> pa.Table:
    schema = _schema(session, statement.schema)
    namespace_of(session, schema)
    rows = [["Catalog Name", _CATALOG], ["Namespace Name", schema]]
    if statement.is_extended:
        rows.append(["Properties", ""])
    return _texts(["info_name", "info_value"], rows)


def _matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """The names that match a pattern of Spark: ``*`` for any text, ``|`` between alternatives."""
    if pattern is None:
        return list(names)
    parts = [part.strip().lower().replace("[", "[[]").replace("?", "[?]") for part in pattern.split("|")]
    return [name for name in names if any(fnmatch.fnmatchcase(name.lower(), part) for part in parts)]


# --- tables of a schema ----------------------------------------------------------------------------


def _show_tables(session: "Session", statement: ShowTables) -> "pa.Table | str":
    catalog = session.connection.catalog
    is_duckdb = session.dialect == "duckdb"
    if (
        is_duckdb
        and statement.schema is not None
        and (len(statement.schema) > 1 or catalog.namespace(statement.schema[0]) is None)
    ):
        return statement.text
    schema = catalog.current if statement.schema is None else _schema(session, statement.schema)
    if is_duckdb and schema is None:
        return statement.text
    namespace = None if schema is None else namespace_of(session, schema)
    tables = [] if namespace is None else sorted([*namespace.tables(), *namespace.views()])
    if is_duckdb:
        return _texts(["name"], [[name] for name in tables])
    rows: list[tuple[str | None, str, bool]] = [
        (schema, name, False) for name in _matching(sorted(tables), statement.pattern)
    ]
    rows += [("", name, True) for name in _matching(_views(catalog.views), statement.pattern)]
    return _listed("tableName", rows)


def _show_views(session: "Session", statement: ShowViews) -> pa.Table:
    catalog = session.connection.catalog
    schema = catalog.current if statement.schema is None else _schema(session, statement.schema)
    kept = [] if schema is None else namespace_of(session, schema).views()
    rows: list[tuple[str | None, str, bool]] = [
        (schema, name, False) for name in _matching(kept, statement.pattern)
    ]
    rows += [("", name, True) for name in _matching(_views(catalog.views), statement.pattern)]
    return _listed("viewName", rows)


def _views(views: Iterable[View]) -> list[str]:
    return [view.name for view in views]


def _listed(column: str, rows: Iterable[tuple[str | None, str, bool]]) -> pa.Table:
    schema = pa.schema([("namespace", _TEXT), (column, _TEXT), ("isTemporary", pa.bool_())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


# --- one table -------------------------------------------------------------------------------------


def _show_properties(session: "Session", statement: ShowProperties) -> pa.Table:
    found = _properties(session.table(statement.table).snapshot)
    rows = sorted(found.items())
    if statement.name is not None:
        missing = f"Table {_full_name(session, statement.table)} does not have property: {statement.name}"
        rows = [(statement.name, found.get(statement.name, missing))]
    return _texts(["key", "value"], rows)


def _properties(snapshot: Snapshot) -> dict[str, str]:
    """What SHOW TBLPROPERTIES shows: the properties, the protocol and the clustering columns."""
    protocol = snapshot.protocol
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    found = dict(snapshot.configuration)
    found |= {f"{FEATURE_PREFIX}{name}": "supported" for name in features}
    found[properties.MIN_READER_VERSION.name] = str(protocol.min_reader_version)
    found[properties.MIN_WRITER_VERSION.name] = str(protocol.min_writer_version)
    if columns := clustering_columns(snapshot):
        found["clusteringColumns"] = orjson.dumps(columns).decode()
    return found


def _full_name(session: "Session", table: TableName) -> str:
    parts = [part for part in table.parts if part.lower() != _CATALOG]
    if len(parts) == 1 and session.connection.catalog.current is not None:
        parts = [session.connection.catalog.current, *parts]
    return ".".join([_CATALOG, *parts])


def _show_columns(session: "Session", statement: ShowColumns) -> pa.Table:
    names = _schema_of(session, statement.table).names
    return _texts(["col_name"], [[name] for name in names])


def _summarize(session: "Session", statement: Summarize) -> str:
    return _of_relation(session, statement, "SUMMARIZE")


def _of_relation(session: "Session", statement: DescribeTable | Summarize, what: str) -> str:
    """The query for DuckDB that describes a table; that of its own tables is as it is."""
    parts = statement.table.parts
    if session.connection.catalog.view(parts) is None and not session.is_delta(statement.table):
        return statement.text
    return f"{what} SELECT * FROM {'.'.join(map(quote_identifier, parts))}"


def _schema_of(session: "Session", name: TableName) -> StructType:
    view = session.connection.catalog.view(name.parts)
    if view is not None:
        return view.schema
    return session.table(name).schema()


def _show_partitions(session: "Session", statement: ShowPartitions) -> pa.Table:
    table = session.table(statement.table)
    snapshot = table.snapshot
    if not snapshot.partition_columns:
        raise UnsupportedFeatureError(
            f"[DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE] {statement.table.text} is not partitioned",
            feature="SHOW PARTITIONS",
        )
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    rows = table.partitions()
    columns = []
    for field in fields:
        texts = pa.array([row[field.name] for row in rows], _TEXT)
        assert isinstance(field.type, PrimitiveType)
        columns.append(parse_partition_values(texts, field.type, field.name))
    schema = Schema([Field(field.name, field.type) for field in fields])
    found = pa.Table.from_arrays(columns, schema=schema.to_arrow())
    if statement.wanted:
        found = _selected(found, schema, statement)
    return found.sort_by([(name, "ascending") for name in found.column_names])


def _selected(found: pa.Table, schema: Schema, statement: ShowPartitions) -> pa.Table:
    for name in statement.wanted:
        if schema.find(name) is None:
            raise SchemaMismatchError(
                f"[NON_PARTITION_COLUMN] {name} is no partition column of {statement.table.text}"
                f"{did_you_mean(name, schema.names)}"
            )
    text = " AND ".join(f"{quoted(name)} <=> {value}" for name, value in statement.wanted.items())
    condition = parse_condition(text, schema)
    batches = [condition.select(batch) for batch in found.to_batches()]
    return pa.Table.from_batches(batches, found.schema)


def _show_create_table(session: "Session", statement: ShowCreateTable) -> pa.Table:
    location = session.location(statement.table)
    text = create_table_text(
        statement.table, session.table(statement.table).snapshot, has_location=not location.is_managed
    )
    return _texts(["createtab_stmt"], [[without_secrets_of(location.uri, text)]])


# --- describe --------------------------------------------------------------------------------------


def _describe_table(session: "Session", statement: DescribeTable) -> "pa.Table | str":
    catalog = session.connection.catalog
    view = catalog.view(statement.table.parts)
    if session.dialect == "duckdb":
        return _of_relation(session, statement, "DESCRIBE")
    schema = _schema_of(session, statement.table)
    if statement.column is not None:
        return _described_column(schema, statement)
    rows = _rows(schema)
    if view is None:
        snapshot = session.table(statement.table).snapshot
        rows += _layout(snapshot)
        if statement.is_extended:
            rows += _details(session, statement.table, snapshot)
    return _texts(_DESCRIBED, rows)


_Rows = list[Sequence[str | None]]


def _rows(schema: StructType) -> _Rows:
    return [(field.name, spark_type_name(field.type), _comment(field)) for field in schema.fields]


def _comment(field: Field) -> str | None:
    comment = field.metadata.get(COMMENT_KEY)
    return None if comment is None else str(comment)


def _described_column(schema: StructType, statement: DescribeTable) -> pa.Table:
    assert statement.column is not None
    field = schema.find(statement.column.strip("`"))
    if field is None:
        raise SchemaMismatchError(
            f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] {statement.table.text} has no column {statement.column}"
            f"{did_you_mean(statement.column, schema.names)}"
        )
    rows = [("col_name", field.name), ("data_type", spark_type_name(field.type))]
    comment = _comment(field)
    return _texts(["info_name", "info_value"], [*rows, ("comment", "NULL" if comment is None else comment)])


def _layout(snapshot: Snapshot) -> _Rows:
    rows: _Rows = []
    if snapshot.partition_columns:
        fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += _rows(StructType(fields))
    return rows


def _details(session: "Session", table: TableName, snapshot: Snapshot) -> _Rows:
    location = session.location(table)
    rows: _Rows = [("", "", ""), ("# Detailed Table Information", "", "")]
    rows += [(name, text, "") for name, text in _facts(session, table, location, snapshot).items()]
    defaults = [each for each in snapshot.schema.fields if DEFAULT_KEY in each.metadata]
    if defaults:
        rows += [("", "", ""), ("# Column Default Values", "", "")]
        rows += [
            (each.name, spark_type_name(each.type), str(each.metadata[DEFAULT_KEY])) for each in defaults
        ]
    return rows


def _facts(
    session: "Session", table: TableName, location: TableLocation, snapshot: Snapshot
) -> Mapping[str, str]:
    *_, schema, name = _full_name(session, table).split(".") if table.parts[0] != "delta" else table.parts
    shown = ",".join(f"{key}={text}" for key, text in sorted(_properties(snapshot).items()))
    is_place = table.parts[0].lower() == "delta"
    facts = {} if is_place else {"Catalog": _CATALOG, "Namespace": schema, "Database": schema, "Table": name}
    facts |= {"Name": redacted(table.text)} if is_place else {}
    facts["Type"] = "MANAGED" if location.is_managed else "EXTERNAL"
    if snapshot.metadata.description:
        facts["Comment"] = snapshot.metadata.description
    facts |= {"Location": redacted(spark_uri(snapshot)), "Provider": "delta"}
    if location.is_managed:
        facts["Is_managed_location"] = "true"
    return facts | {"Table Properties": f"[{shown}]"}


def _describe_query(session: "Session", statement: DescribeQuery) -> "pa.Table | str":
    return _texts(_DESCRIBED, _rows(QueryRows(session, statement.query).schema))


def _describe_detail(session: "Session", statement: DescribeDetail) -> pa.Table:
    is_place = statement.table.parts[0].lower() == "delta"
    name = None if is_place else _full_name(session, statement.table)
    return detail_of(session.table(statement.table).snapshot, name)


def _describe_history(session: "Session", statement: DescribeHistory) -> pa.Table:
    table = session.table(statement.table)
    found = table.inspect.history(statement.limit)
    arrays = [
        found.column(field.name).cast(field.type)
        if field.name in found.column_names
        else pa.nulls(found.num_rows, field.type)
        for field in _HISTORY
    ]
    return pa.Table.from_arrays(arrays, schema=_HISTORY)


# --- folders ---------------------------------------------------------------------------------------


def _attach(session: "Session", statement: Attach) -> pa.Table:
    connection = session.connection
    name = statement.name or statement.folder.rstrip("/").rpartition("/")[2]
    if connection.catalog.namespace(name) is not None and not statement.may_replace:
        if statement.if_not_exists:
            return _NOTHING
        raise UnsupportedFeatureError(
            f"there is a schema {name} already: DETACH it, or use ATTACH OR REPLACE", feature="ATTACH"
        )
    if DeltaTable.is_deltatable(statement.folder, dict(connection.catalog.storage_options or {}) or None):
        table = TableName(("delta", statement.folder))
        query = f"SELECT * FROM delta.{quote_identifier(statement.folder)}"
        view = View(name, query, session.table(table).schema())
        connection.catalog.add_view(view, may_replace=statement.may_replace)
        return _NOTHING
    connection.attach(statement.folder, name)
    return _NOTHING


def _detach(session: "Session", statement: Detach) -> "pa.Table | str":
    catalog = session.connection.catalog
    try:
        session.connection.detach(fold(statement.name))
    except KeyError:
        return _NOTHING if catalog.drop_view(statement.name) else statement.text
    if catalog.current == fold(statement.name):
        catalog.current = None
    return _NOTHING


_DESCRIBE = (("DESCRIBE",), ("DESC",))


def _show_kind(name: str, statement: type, handle: Any) -> StatementKind:
    return StatementKind(
        f"SHOW {name}", (("SHOW",),), statement, handle, parse_show, duckdb.parse_duckdb_show
    )


def _describe_kind(name: str, statement: type, handle: Any) -> StatementKind:
    parse = duckdb.parse_duckdb_describe
    return StatementKind(f"DESCRIBE {name}", _DESCRIBE, statement, handle, parse_describe, parse)


KINDS = (
    StatementKind("USE", (("USE",),), Use, _use, spark=parse_use, duckdb=parse_use),
    StatementKind(
        "CREATE SCHEMA",
        tuple(("CREATE", each) for each in SCHEMAS),
        CreateSchema,
        _create_schema,
        spark=parse_create_schema,
        duckdb=parse_create_schema,
    ),
    StatementKind(
        "DROP SCHEMA",
        tuple(("DROP", each) for each in SCHEMAS),
        DropSchema,
        _drop_schema,
        spark=parse_drop_schema,
        duckdb=parse_drop_schema,
    ),
    _show_kind("SCHEMAS", ShowSchemas, _show_schemas),
    _show_kind("CATALOGS", ShowCatalogs, _show_catalogs),
    StatementKind("SET CATALOG", (("SET", "CATALOG"),), SetCatalog, _set_catalog, spark=parse_set_catalog),
    _show_kind("CURRENT NAMESPACE", ShowCurrentNamespace, _show_current_namespace),
    _show_kind("TABLES", ShowTables, _show_tables),
    _show_kind("VIEWS", ShowViews, _show_views),
    _show_kind("TBLPROPERTIES", ShowProperties, _show_properties),
    _show_kind("COLUMNS", ShowColumns, _show_columns),
    _show_kind("PARTITIONS", ShowPartitions, _show_partitions),
    _show_kind("CREATE TABLE", ShowCreateTable, _show_create_table),
    _describe_kind("TABLE", DescribeTable, _describe_table),
    _describe_kind("QUERY", DescribeQuery, _describe_query),
    _describe_kind("DETAIL", DescribeDetail, _describe_detail),
    _describe_kind("HISTORY", DescribeHistory, _describe_history),
    _describe_kind("SCHEMA", DescribeSchema, _describe_schema),
    StatementKind("SUMMARIZE", (("SUMMARIZE",),), Summarize, _summarize, duckdb=duckdb.parse_summarize),
    StatementKind("ATTACH", (("ATTACH",),), Attach, _attach, duckdb=duckdb.parse_attach),
    StatementKind("DETACH", (("DETACH",),), Detach, _detach, duckdb=duckdb.parse_detach),
)
