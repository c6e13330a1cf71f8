"""Statistics of a list of files as typed columns, the evidence for `deltaarrow.statistics.skipping`.

Parsing the JSON statistics of a million files dominates the time of file skipping. So each text is parsed
once, for all bounds and counts that a condition needs (`deltaarrow.statistics.bounds`, *Per-file Statistics*
of PROTOCOL.md).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import in_order, integers
from deltaarrow.compute import quote_literal, sandbox_cursor
from deltaarrow.expressions import Column, Predicate, VariantGet
from deltaarrow.partitions import EncodedPartitionValues
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.schema import PrimitiveType, StructType
from deltaarrow.statistics.bounds import FileStatisticsSql, bound_arrow_type, lower_bound, upper_bound
from deltaarrow.statistics.evidence import Asked
from deltaarrow.statistics.skipping import may_match, statistics_asked

if TYPE_CHECKING:
    import duckdb

__all__ = ["PLACE", "ListedFiles", "OpenCursor", "matching_each", "matching_rows", "read_statistics"]

PLACE = "place"
"""The column of a source with the index of each file."""

_lazily = lazy_attributes(__name__, {"decode_variant_bounds": "deltaarrow.statistics.variant_bounds"})

OpenCursor = Callable[[], AbstractContextManager["duckdb.DuckDBPyConnection"]]


@dataclass(frozen=True)
class _ListedTexts(FileStatisticsSql):
    """Statistics as elements of the list ``texts``, filled by one parse of the JSON."""

    pointers: dict[str, int] = field(default_factory=dict)

    def text(self, *path: str) -> str:
        place = self.pointers.setdefault(self.pointer(*path), len(self.pointers) + 1)
        return f"texts[{place}]"

    def for_few(self) -> FileStatisticsSql:
        return FileStatisticsSql(self.json)


def read_statistics(
    cursor: "duckdb.DuckDBPyConnection",
    source: str,
    asked: Iterable[Asked],
    parsed_type: pa.DataType | None = None,
    *,
    has_json: bool = True,
) -> dict[Asked, pa.Array]:
    """Read statistics of files, one array each, in the order of ``place``.

    Args:
        cursor: the DuckDB cursor that can read the source.
        source: a SELECT of the columns ``place`` and, if they exist, ``stats`` (JSON texts) and
            ``stats_parsed``, which has priority.
        asked: the statistics to read.
        parsed_type: the type of ``stats_parsed``; None if it does not exist.
        has_json: whether the column ``stats`` exists.
    """
    of_variants = [each for each in asked if each.json_path is not None]
    wanted = [each for each in asked if each.json_path is None]
    found: dict[Asked, pa.Array] = {}
    if wanted:
        found |= _read(cursor, source, wanted, parsed_type, has_json=has_json)
    if of_variants:
        found |= _read_variants(cursor, source, of_variants, has_json=has_json)
    return found


def _read(
    cursor: "duckdb.DuckDBPyConnection",
    source: str,
    asked: Sequence[Asked],
    parsed_type: pa.DataType | None,
    *,
    has_json: bool,
) -> dict[Asked, pa.Array]:
    if parsed_type is not None:
        # The JSON is parsed only if the struct has no value.
        statistics = FileStatisticsSql("stats" if has_json else None, "stats_parsed", parsed_type)
        selected = [_sql(each, statistics) for each in asked]
        rows = source
    else:
        listed = _ListedTexts("stats" if has_json else None)
        selected = [_sql(each, listed) for each in asked]
        pointers = ", ".join(map(quote_literal, listed.pointers))
        texts = f"TRY(json_extract_string(stats, [{pointers}]))" if has_json else "NULL::VARCHAR[]"
        rows = f"SELECT {PLACE}, {'stats, ' if has_json else ''}{texts} AS texts FROM ({source})"
    numbered = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(selected))
    table = cursor.sql(f"SELECT {PLACE}, {numbered} FROM ({rows})").to_arrow_table()
    return dict(zip(asked, _ordered(table).columns[1:], strict=True))


def _sql(asked: Asked, statistics: FileStatisticsSql) -> str:
    """Return the SQL of a statistic; NULL if unknown."""
    match asked.what:
        case "null_count":
            return statistics.null_count(asked.path)
    assert asked.field is not None
    if asked.what == "all_null":
        return statistics.is_all_null(asked.path, asked.field)
    bound = statistics.lower_bound if asked.what == "lower" else statistics.upper_bound
    return bound(asked.path, asked.field) or "NULL"


def _ordered(table: pa.Table) -> pa.RecordBatch:
    """Return the rows in the order of ``place``, as one batch."""
    # Files are read in parallel, so rows arrive in any order.
    table = in_order(table, PLACE)
    arrays = [_one_piece(column) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, names=table.column_names)


def _one_piece(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _read_variants(
    cursor: "duckdb.DuckDBPyConnection", source: str, asked: Sequence[Asked], *, has_json: bool
) -> dict[Asked, pa.Array]:
    """Read bounds of parts of variants: decoded here, because SQL cannot, then widened as in `bounds`."""
    texts = "stats" if has_json else "NULL::VARCHAR AS stats"
    table = _ordered(cursor.sql(f"SELECT {PLACE}, {texts} FROM ({source})").to_arrow_table())
    parts = {(each.path, each.json_path): _part(each) for each in asked}
    paths = {part: path for (path, _), part in parts.items()}
    decoded = _lazily("decode_variant_bounds")(table.column("stats"), list(paths), paths.__getitem__)
    columns, selected = [table.column(PLACE)], []
    for number, each in enumerate(asked):
        assert each.field is not None and isinstance(each.field.type, PrimitiveType)
        bounds = decoded.get(parts[each.path, each.json_path])
        if bounds is None:
            unknown = pa.nulls(len(columns[0]), bound_arrow_type(each.field.type))
            bounds = unknown, unknown
        columns.append(bounds[0] if each.what == "lower" else bounds[1])
        bound = lower_bound if each.what == "lower" else upper_bound
        selected.append(f"{bound(each.field, f'b{number}')} AS c{number}")
    names = [PLACE, *(f"b{number}" for number in range(len(asked)))]
    cursor.register("variant_bounds", pa.table(columns, names))
    found = cursor.sql(f"SELECT {PLACE}, {', '.join(selected)} FROM variant_bounds").to_arrow_table()
    cursor.unregister("variant_bounds")
    return dict(zip(asked, _ordered(found).columns[1:], strict=True))


def _part(asked: Asked) -> VariantGet:
    assert asked.field is not None and asked.json_path is not None
    assert isinstance(asked.field.type, PrimitiveType)
    return VariantGet(Column(asked.path), asked.json_path, asked.field.type)


class ListedFiles:
    """Evidence about files from the columns of a list of file actions.

    Threads may share it; concurrent requests for the same statistic each read it.

    Args:
        column: returns the column ``partition_values``, ``stats`` or ``stats_parsed``, or None.
        length: the number of files.
        open_cursor: opens a DuckDB cursor for parsing statistics.
    """

    def __init__(
        self,
        column: Callable[[str], pa.ChunkedArray | None],
        length: int,
        *,
        open_cursor: OpenCursor = sandbox_cursor,
    ) -> None:
        self._column = column
        self._length = length
        self._open_cursor = open_cursor
        self._statistics: dict[Asked, pa.Array] = {}
        self._partitions: dict[str, EncodedPartitionValues] = {}

    @classmethod
    def of(cls, files: pa.Table) -> "ListedFiles":
        """Return the evidence in a table of files."""
        names = set(files.column_names)
        return cls(lambda name: files.column(name) if name in names else None, files.num_rows)

    def load(self, asked: Iterable[Asked]) -> None:
        """Read several statistics with one parse of the JSON."""
        missing = [each for each in asked if each not in self._statistics]
        if not missing:
            return
        columns = {name: self._column(name) for name in ("stats", "stats_parsed")}
        given = {name: column for name, column in columns.items() if column is not None}
        parsed = given.get("stats_parsed")
        with self._open_cursor() as cursor:
            cursor.register("listed_files", pa.table({PLACE: integers(np.arange(self._length)), **given}))
            self._statistics |= read_statistics(
                cursor,
                "FROM listed_files",
                missing,
                None if parsed is None else parsed.type,
                has_json="stats" in given,
            )
            cursor.unregister("listed_files")

    def holds(self, asked: Iterable[Asked]) -> bool:
        """Whether all these statistics are in memory."""
        return all(each in self._statistics for each in asked)

    def at(self, rows: np.ndarray) -> "ListedFiles":
        """Return the evidence about some of the files, given by their indexes."""
        places = integers(rows)

        def column(name: str) -> pa.ChunkedArray | None:
            whole = self._column(name)
            return None if whole is None else whole.take(places)

        return ListedFiles(column, len(rows), open_cursor=self._open_cursor)

    def statistic(self, asked: Asked) -> pa.Array:
        """See `FileEvidence`."""
        self.load([asked])
        return self._statistics[asked]

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """See `FileEvidence`."""
        if name not in self._partitions:
            column = self._column("partition_values")
            chunks = [] if column is None else column.chunks
            self._partitions[name] = EncodedPartitionValues.of(((maps, None) for maps in chunks), name)
        return self._partitions[name]


def matching_rows(
    files: pa.Table,
    predicate: Predicate,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> np.ndarray:
    """Return a mask of the files of a table that may hold a row on which a predicate is TRUE.

    Args:
        files: a table with the columns ``partition_values`` and ``stats``, among others.
        predicate: a predicate, as for `may_match`.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode.
        partition_columns: logical names.
    """
    return next(matching_each(files, [predicate], schema, mapping_mode, partition_columns))


def matching_each(
    files: pa.Table,
    predicates: Iterable[Predicate],
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> Iterator[np.ndarray]:
    """Yield the answer of `matching_rows` for each of several predicates; statistics are parsed once."""
    of_table = schema, mapping_mode, partition_columns
    listed: ListedFiles | None = None
    for predicate in predicates:
        asked, verdict = statistics_asked(predicate, *of_table)
        if not isinstance(verdict, bool):
            listed = ListedFiles.of(files) if listed is None else listed
            listed.load(asked)
            verdict = may_match(predicate, listed, *of_table)
        yield np.full(files.num_rows, verdict) if isinstance(verdict, bool) else verdict
