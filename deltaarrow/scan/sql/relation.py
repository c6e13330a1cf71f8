"""`Relation`: a planned scan as one DuckDB SELECT over data files, and the table of files that it joins.

One ``read_parquet`` reads the files of one physical schema, separately with and without deletion vectors;
``UNION ALL`` combines these branches. Each branch is::

    SELECT f."c1" AS "id", p."day" AS "day"
    FROM read_parquet(['/t/a.parquet', ...], bound_schema = {'c1': 'BIGINT'}) AS f
    JOIN parts AS p ON p.branch = 0 AND p.file_index = f.file_index
    WHERE get_bit(p.keep, f.file_row_number::INTEGER) = 1

A single file with a deletion vector is read without the join. Its mask is in a variable of the connection,
which DuckDB treats as a constant and pushes into the file reader. In a join of one to four files, DuckDB
copies the mask for every row: with one such file of 15, TPC-H q6 takes 298 ms of processor time instead of
216; with three files 438 instead of 204; with five 229 instead of 234. Two to four files are joined anyway,
because DuckDB does not name a broken file that is read alone.

In large files a mask costs about 14 ns of processor time for each row, half of it the join and half
``get_bit``. Alternatives were slower. DuckDB copies a constant for every 2,048 rows: the variable of a file
of 3 million rows, the pieces of it in a tree of CASE, or the only row of a cross join. ``list_extract`` from
a list of truth values takes 55 ns.

``bound_schema`` is used and not ``schema``, with which DuckDB estimates one row for any number of files and
makes the files the build side of every join. The join with `parts` adds partition values from the log; DuckDB
does not open a file whose row of `parts` is filtered out.

Every listed file costs time in each query, even if the join skips it: 24 ms for 2,000 files of which two are
read, against 2 ms for these two alone. With the list in a variable of the connection, it is 15 ms, because
the text of a view is bound in every query. Alternatives were slower. Partition values from paths
(``hive_partitioning``) prune files during planning, which then takes 26 ms, and paths may differ from the
log. A list of values indexed by ``file_index`` is copied for every file: 96 ms. One branch per range of
values, which DuckDB can prune, takes 18 ms with four branches and 41 ms with 32, for every query. If the
conditions of a query are known, the list is shortened before (`deltaarrow.engines.duckdb.pruning`): 4 ms.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.compute import quote_file, quote_identifier, quote_literal
from deltaarrow.deletion_vectors import read_deletion_vectors
from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.partitions import parse_partition_values, partition_literal_sql
from deltaarrow.scan.char_padding import padded
from deltaarrow.scan.column_binding import bind_columns
from deltaarrow.scan.damage import location_to_read
from deltaarrow.scan.file_schemas.footers import file_schemas, read_row_counts
from deltaarrow.scan.metadata_column import METADATA, file_values, metadata_sql, row_columns
from deltaarrow.scan.plan import ScanPlan
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.scan.sql.file_columns import BeyondDuckDBError, duckdb_type, sql_column
from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from deltaarrow.variant import holds_variant

__all__ = ["Relation", "relation_sql"]

_MOST_BRANCHES = 32
"""The most branches of one query; DuckDB takes milliseconds to plan each."""

_MOST_REPETITIONS = 12
"""The deepest nesting of lists and maps; each level doubles DuckDB's time to read them as another type."""

_LONG_LIST = 64
"""From this many files on, the list is kept in a variable and not in the SQL text."""

_MOST_ROWS = (1 << 31) - 1
"""The most bits of a DuckDB bit string, whose positions are INTEGER."""

_RECORDED = ("base_row_id", "default_row_commit_version")

_VIRTUAL_COLUMNS = {"filename", "file_index", "file_row_number"}


@dataclass(frozen=True)
class Relation:
    """A scan as SQL.

    `select` is the query. It reads a table that `create_parts` makes from the Arrow table `parts`, unless
    `parts` is None. `branches` has the plan indexes of the files of each ``read_parquet``; `part_names` maps
    partition columns to columns of `parts`. `variables` has, by name, the values of the variables that
    `select` reads, as SQL over the table.
    """

    select: str
    parts: pa.Table | None
    _parts_name: str
    branches: tuple[tuple[int, ...], ...]
    part_names: Mapping[str, str]
    variables: Mapping[str, str]

    def create_parts(self, source: str) -> str:
        """Return the statement that creates the table of files; `source` is the name of `parts` in DuckDB."""
        return (
            f"CREATE TEMP TABLE {self._parts_name} AS"
            f" SELECT * REPLACE (keep::BIT AS keep) FROM {quote_identifier(source)}"
        )


@dataclass
class _Branch:
    """The files of one ``read_parquet``, by their index in the plan."""

    bound: dict[str, str]
    expressions: dict[str, str]
    masked: bool
    files: list[int] = field(default_factory=list)


def relation_sql(
    plan: ScanPlan, parts_name: str, *, locate: bool = False, variables_name: str | None = None
) -> Relation:
    """Render a plan as SQL.

    Args:
        plan: the files and columns to read; after them comes `METADATA`, if the plan has it.
        parts_name: the unquoted name of the table of files that the SQL may use.
        locate: whether to add the columns `FILE_COLUMN`, the index of the file in ``plan.tasks``, and
            `ROW_COLUMN`, the position of the row in its file.
        variables_name: the prefix of variable names for long file lists and for masks; None to use no
            variables.

    Raises:
        BeyondDuckDBError: DuckDB's reader cannot show these files as the table. With `locate`, this includes
            all variants, because DuckDB does not preserve their bytes.
        CorruptDataFileError: a file is missing, broken, or contradicts the schema of the table.
        UnsupportedFeatureError: with `locate`, the table has a column named like one of these two.
    """
    if locate and (taken := {FILE_COLUMN, ROW_COLUMN}.intersection(each.lower() for each in plan.columns)):
        raise UnsupportedFeatureError(
            f"a column is named {min(taken)}, a name that this operation reserves; rename the column",
            feature="column names",
        )
    types = [plan.schema.field(name).type for name in plan.columns]
    if locate and any(map(holds_variant, types)):
        raise BeyondDuckDBError(
            "DuckDB does not preserve the bytes of variants in changed rows", feature="variantType"
        )
    if any(_repetitions(each) > _MOST_REPETITIONS for each in types):
        raise BeyondDuckDBError(f"lists or maps are nested more than {_MOST_REPETITIONS} times")
    if "" in plan.columns:
        raise BeyondDuckDBError("a column has an empty name")
    table = quote_identifier(parts_name)
    branches = _branches(plan)
    if len(branches) > _MOST_BRANCHES:
        raise BeyondDuckDBError(f"the files have {len(branches)} different physical schemas")
    arrays = _partition_arrays(plan)
    # Column names of the table may clash; the table of files uses these names instead.
    names = {name: f"value_{number}" for number, name in enumerate(arrays)}
    tracked = _tracked(plan)
    selects, parts = [], []
    variables: dict[str, str] = {}
    for number, branch in enumerate(branches):
        constants = _constants(plan, branch, arrays)
        join, mask = None, "p.keep"
        has_own_mask = variables_name is not None and branch.masked and len(branch.files) == 1
        is_joined = locate or tracked or plan.metadata is not None or len(constants) < len(arrays)
        is_joined = is_joined or (branch.masked and not has_own_mask)
        if branch.masked or is_joined:
            if clash := _VIRTUAL_COLUMNS & {name.casefold() for name in branch.bound}:
                raise BeyondDuckDBError(
                    f"a column in the files is named {clash.pop()}, like a column of DuckDB's reader"
                )
            if is_joined:
                join = f"JOIN {table} AS p ON p.branch = {number} AND p.file_index = f.file_index"
            if has_own_mask:
                name = f"{variables_name}:mask {number}"
                mask = f"getvariable({quote_literal(name)})"
                variables[name] = f"(SELECT keep FROM {table} WHERE branch = {number})"
            parts.append(_parts(plan, branch, number, names, arrays))
        sources = branch.expressions | {name: f"p.{names[name]}" for name in arrays} | constants
        sources |= {name: f"coalesce({sources[name]}, {derived})" for name, derived in tracked.items()}
        if plan.metadata is not None:
            sources[METADATA] = metadata_sql(plan.metadata, sources)
        files = _file_list(plan, branch)
        if variables_name is not None and len(branch.files) > _LONG_LIST:
            name = f"{variables_name}:{number}"
            variables[name], files = files, f"getvariable({quote_literal(name)})"
        selects.append(_select(plan, branch, files, sources, join, mask, locate=locate))
    select = "\nUNION ALL\n".join(selects) if selects else _empty_select(plan, locate=locate)
    places = tuple(tuple(branch.files) for branch in branches)
    return Relation(select, pa.concat_tables(parts) if parts else None, table, places, names, variables)


def _select(
    plan: ScanPlan,
    branch: _Branch,
    files: str,
    sources: Mapping[str, str],
    join: str | None,
    mask: str,
    *,
    locate: bool,
) -> str:
    columns = [f"{sources[name]} AS {quote_identifier(name)}" for name in _shown(plan)]
    live = f"get_bit({mask}, f.file_row_number::INTEGER) = 1"
    if locate:
        # The surrounding query may compute values before the deleted rows are filtered out.
        place = f"CASE WHEN {live} THEN f.file_row_number END" if branch.masked else "f.file_row_number"
        columns += [f"p.file AS {FILE_COLUMN}", f"{place} AS {ROW_COLUMN}"]
    lines = [f"SELECT {', '.join(columns) or '1'}", f"FROM {_read_parquet(files, branch)} AS f"]
    if join is not None:
        lines.append(join)
    if branch.masked:
        lines.append(f"WHERE {live}")
    return "\n".join(lines)


def _file_list(plan: ScanPlan, branch: _Branch) -> str:
    files = ", ".join(
        quote_file(location_to_read(plan.store, plan.tasks[file].path)) for file in branch.files
    )
    return f"[{files}]"


def _read_parquet(files: str, branch: _Branch) -> str:
    # Parquet's bounds ignore NaN, which DuckDB orders above all numbers: without can_have_nan, DuckDB
    # skips row groups with matching NaNs.
    options = "hive_partitioning = false, union_by_name = false, can_have_nan = true"
    if branch.bound:
        bound = ", ".join(f"{quote_literal(name)}: {quote_literal(t)}" for name, t in branch.bound.items())
        options += f", bound_schema = {{{bound}}}"
    return f"read_parquet({files}, {options})"


def _empty_select(plan: ScanPlan, *, locate: bool) -> str:
    types = {f.name: duckdb_type(f.type) for f in plan.schema.fields}
    if plan.metadata is not None:
        types[METADATA] = duckdb_type(plan.metadata)
    columns = [(name, types[name]) for name in _shown(plan)]
    if locate:
        columns += [(FILE_COLUMN, "BIGINT"), (ROW_COLUMN, "BIGINT")]
    nulls = ", ".join(f"NULL::{type_name} AS {quote_identifier(name)}" for name, type_name in columns)
    return f"SELECT {nulls or '1'} WHERE false"


def _shown(plan: ScanPlan) -> list[str]:
    """The names of the columns of the SELECT, without those that tell the place of a row."""
    return [*plan.columns, *([] if plan.metadata is None else [METADATA])]


def _read(plan: ScanPlan) -> set[str]:
    """The columns that are read: those of the plan, and those that `METADATA` is made of."""
    return {*plan.columns, *row_columns(plan.metadata)}


def _repetitions(data_type: DataType) -> int:
    if isinstance(data_type, StructType):
        return max((_repetitions(field.type) for field in data_type.fields), default=0)
    if isinstance(data_type, ArrayType):
        return 1 + _repetitions(data_type.element_type)
    if isinstance(data_type, MapType):
        return 1 + max(_repetitions(data_type.key_type), _repetitions(data_type.value_type))
    return 0


# --- branches --------------------------------------------------------------------------------------


def _branches(plan: ScanPlan) -> list[_Branch]:
    """Group the files of the plan into branches."""
    wanted = _read(plan)
    fields = [f for f in plan.layout.data_fields if f.name in wanted]
    schemas = file_schemas(plan.layout, [f.name for f in fields], plan.tasks)
    # Files mostly share one schema object, so a lookup by identity is fast.
    forms: dict[int, tuple[dict[str, str], dict[str, str]]] = {}
    branches: dict[Any, _Branch] = {}
    for place, (task, schema) in enumerate(zip(plan.tasks, schemas, strict=True)):
        if id(schema) not in forms:
            forms[id(schema)] = _form(plan, fields, schema, task.path)
        bound, expressions = forms[id(schema)]
        masked = task.deletion_vector is not None
        key = (masked, tuple(bound.items()), tuple(expressions.items()))
        branches.setdefault(key, _Branch(bound, expressions, masked)).files.append(place)
    return list(branches.values())


def _form(
    plan: ScanPlan, fields: Sequence[Field], schema: pa.Schema, path: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types to request, by name in the file, and the expressions, by logical name."""
    binding = bind_columns(plan.layout, fields, schema, path)
    found_fields = dict(zip(schema.names, schema, strict=True))
    alike = Counter(name.casefold() for name in schema.names)
    bound, expressions = {}, {}
    for wanted, source in zip(fields, binding.sources, strict=True):
        if source is None:
            expressions[wanted.name] = f"NULL::{duckdb_type(wanted.type)}"
            continue
        if alike[source.casefold()] > 1:
            raise BeyondDuckDBError(f"{path} has columns whose names differ only in case")
        column = f"f.{quote_identifier(source)}"
        scanned = binding.scan_schema.field(source).type
        paddings = plan.layout.paddings(wanted.name)
        found = sql_column(column, wanted.type, scanned, found_fields[source], paddings)
        bound[source] = found.bound_type
        expressions[wanted.name] = found.expression
    return bound, expressions


# --- the table of files ----------------------------------------------------------------------------


def _partition_arrays(plan: ScanPlan) -> dict[str, pa.Array]:
    """Return the typed values of the requested partition columns, for every file of the plan."""
    wanted = set(plan.columns)
    arrays = {}
    for column in plan.layout.partition_fields:
        if column.name in wanted:
            texts = pc.map_lookup(
                plan.files.column("partition_values"), plan.layout.physical_name(column), "first"
            )
            values = parse_partition_values(texts, _primitive(column), column.name)
            arrays[column.name] = padded(values, plan.layout.paddings(column.name))
    return arrays


def _primitive(column: Field) -> PrimitiveType:
    if not isinstance(column.type, PrimitiveType):
        raise CorruptLogError(
            f"the partition column {column.name!r} has type {column.type!r}, not a primitive type"
        )
    return column.type


def _constants(plan: ScanPlan, branch: _Branch, arrays: Mapping[str, pa.Array]) -> dict[str, str]:
    """Return the partition columns that are constant in a branch, as SQL."""
    types = {column.name: _primitive(column) for column in plan.layout.partition_fields}
    files = integers(np.array(branch.files))
    constants = {}
    for name, array in arrays.items():
        values = array.take(files).unique()
        if len(values) == 1:
            constants[name] = partition_literal_sql(values[0].as_py(), types[name])
    return constants


def _tracked(plan: ScanPlan) -> dict[str, str]:
    """Return the SQL of the requested row tracking columns for rows without materialized values."""
    if plan.layout.row_tracking is None:
        return {}
    derived = {
        ROW_ID: "p.base_row_id + f.file_row_number",
        ROW_COMMIT_VERSION: "p.default_row_commit_version",
    }
    return {name: expression for name, expression in derived.items() if name in _read(plan)}


def _parts(
    plan: ScanPlan, branch: _Branch, number: int, names: Mapping[str, str], arrays: Mapping[str, pa.Array]
) -> pa.Table:
    """Return one row per file of a branch; `names` are the names of the partition columns in it."""
    files = np.array(branch.files)
    count = len(files)
    places = integers(files)
    columns = {
        "branch": integers(np.full(count, number)),
        "file_index": integers(np.arange(count), pa.uint64()),
        "file": places,
        "keep": _masks(plan, branch.files) if branch.masked else pa.nulls(count, pa.large_binary()),
    }
    if plan.layout.row_tracking is not None:
        recorded = (name for name in _RECORDED if name in plan.files.column_names)
        columns |= {name: plan.files.column(name).take(places) for name in recorded}
    if plan.metadata is not None:
        columns |= file_values(plan.store, plan.files.take(places))
    return pa.table(columns | {names[name]: array.take(places) for name, array in arrays.items()})


def _masks(plan: ScanPlan, files: Sequence[int]) -> pa.Array:
    """Return the mask of each file, with one bit per row: 1 to keep the row."""
    tasks = [plan.tasks[file] for file in files]
    vectors = read_deletion_vectors(plan.store, [t.deletion_vector for t in tasks if t.deletion_vector])
    unknown = [task.path for task in tasks if task.num_records is None]
    counts = read_row_counts(plan.store, unknown) if unknown else {}
    blobs = []
    for task, deleted in zip(tasks, vectors, strict=True):
        rows = counts[task.path] if task.num_records is None else task.num_records
        if rows > _MOST_ROWS:
            raise BeyondDuckDBError(
                f"{task.path} has deleted rows among {rows}, too many for a bit string of DuckDB"
            )
        deleted.ensure_within(rows)
        # Rounded up to whole bytes, so that rows beyond the count in the log are kept.
        blobs.append(deleted.bit_blob(max(8, -(-rows // 8) * 8)))
    offsets = np.cumsum([0, *map(len, blobs)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(blobs))]
    return pa.Array.from_buffers(pa.large_binary(), len(blobs), buffers)
