"""Checks of statistics against the data: whether a row lies outside the bounds of its file.

A bound means what it means to readers (`deltaarrow.statistics.bounds`), with all tolerance that they grant to
writers that cut, round or drop digits. So an error here is a row that skipping may lose.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.compute import quote_identifier, quote_literal, sandbox_cursor
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log import LOG_FOLDER
from deltaarrow.scan import BatchReader, FileTask, TableLayout
from deltaarrow.schema import FLOATING, Field, PrimitiveType, StructType, has_known_type
from deltaarrow.statistics.bounds import FileStatisticsSql, lower_bound
from deltaarrow.verify.report import Check, Examination

__all__ = ["examine_statistics"]

_SHOWN = 60
_FILES_AT_A_TIME = 256


@dataclass(frozen=True)
class _Leaf:
    """A leaf column: the fields that lead to it, and their names in the data files."""

    fields: tuple[Field, ...]
    physical: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(field.name for field in self.fields)

    @property
    def field(self) -> Field:
        return self.fields[-1]

    @property
    def has_bounds(self) -> bool:
        return lower_bound(self.field, "") is not None

    @property
    def is_float(self) -> bool:
        return self.field.type in FLOATING

    @property
    def sql(self) -> str:
        text = quote_identifier(self.fields[0].name)
        for field in self.fields[1:]:
            text = f"struct_extract({text}, {quote_literal(field.name)})"
        return text


def _leaves(
    logical: Sequence[Field],
    physical: Sequence[Field],
    fields: tuple[Field, ...] = (),
    names: tuple[str, ...] = (),
) -> Iterator[_Leaf]:
    for one, other in zip(logical, physical, strict=True):
        path, stored = (*fields, one), (*names, other.name)
        if isinstance(one.type, StructType) and isinstance(other.type, StructType):
            yield from _leaves(one.type.fields, other.type.fields, path, stored)
        elif one.type != PrimitiveType("void"):
            yield _Leaf(path, stored)


def examine_statistics(found: Examination, layout: TableLayout, tasks: Sequence[FileTask]) -> None:
    """Read every row of the files and compare the rows with the statistics.

    The caller leaves out files that were found to be broken; an unreadable file is an error.
    """
    data = {field.name for field in layout.data_fields}
    physical = layout.physical_schema.fields
    pairs = [
        (one, other) for one, other in zip(layout.schema.fields, physical, strict=True) if one.name in data
    ]
    for field in [one for one, _ in pairs if not has_known_type(one.type)]:
        said = f"column {field.name!r} was not examined: this release cannot read its type"
        found.warning(Check.STATISTICS, said, LOG_FOLDER)
    pairs = [(one, other) for one, other in pairs if has_known_type(one.type)]
    if not pairs:
        return
    leaves = list(_leaves([one for one, _ in pairs], [other for _, other in pairs]))
    reader = BatchReader(layout, tuple(one.name for one, _ in pairs))
    for start in range(0, len(tasks), _FILES_AT_A_TIME):
        examined, summaries = [], []
        for task in tasks[start : start + _FILES_AT_A_TIME]:
            summary = _summarise(found, reader, leaves, task)
            if summary is not None:
                examined.append(task)
                summaries.append(summary)
        if examined:
            _compare(found, leaves, examined, pa.concat_tables(summaries))


def _summarise(
    found: Examination, reader: BatchReader, leaves: Sequence[_Leaf], task: FileTask
) -> pa.Table | None:
    """Return one row: the count of live rows of a file and, by leaf, the extremes and NULL counts."""
    import duckdb

    errors: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader.read([task])
        except Exception as error:
            errors.append(error)  # DuckDB passes on only its text
            raise

    asked = ["count(*) AS n"]
    for i, leaf in enumerate(leaves):
        asked.append(f"count(*) FILTER (({leaf.sql}) IS NULL) AS nulls{i}")
        if leaf.has_bounds:
            # NaN is outside the order of bounds.
            known = f" FILTER (NOT isnan({leaf.sql}))" if leaf.is_float else ""
            asked += [f"min({leaf.sql}){known} AS least{i}", f"max({leaf.sql}){known} AS greatest{i}"]
    with sandbox_cursor() as cursor:
        cursor.register("rows", pa.RecordBatchReader.from_batches(reader.schema, batches()))
        try:
            summary: pa.Table = cursor.sql(f"SELECT {', '.join(asked)} FROM rows").to_arrow_table()
            return summary
        except duckdb.Error as error:
            cause = errors[0] if errors else error
    if isinstance(cause, UnsupportedFeatureError):
        found.warning(Check.STATISTICS, f"the rows were not examined: {cause}", task.path)
    else:
        found.error(Check.DATA_FILE, f"the rows cannot be read: {cause}", task.path)
    return None


def _compare(
    found: Examination, leaves: Sequence[_Leaf], tasks: Sequence[FileTask], summaries: pa.Table
) -> None:
    """Compare the results of files, one row each, with their statistics."""
    texts = pa.array([task.stats for task in tasks], pa.string())
    with sandbox_cursor() as cursor:
        cursor.register("files", summaries.append_column("stats", texts))
        rows = cursor.execute(_comparison_sql(leaves)).fetchall()
    for task, (count, records, tight, *answers) in zip(tasks, rows, strict=True):
        exact = task.deletion_vector is None and tight != "false"
        for i, leaf in enumerate(leaves):
            faults = []
            least, greatest, lower, upper, below, above, nulls, said = answers[8 * i : 8 * i + 8]
            if below:
                faults.append(f"the least value is {_short(least)}, below the minimum {_short(lower)}")
            if above:
                faults.append(f"the greatest value is {_short(greatest)}, above the maximum {_short(upper)}")
            if said is not None and _is_false_count(leaf, said, nulls, count, records, exact=exact):
                faults.append(f"nullCount is {said} of {records} rows; {nulls} of {count} live ones are NULL")
            for fault in faults:
                found.error(Check.STATISTICS, f"{leaf.name}: {fault}", task.path)


def _comparison_sql(leaves: Sequence[_Leaf]) -> str:
    """The SQL for each row of ``files``: live rows, numRecords, tightBounds, and eight columns per leaf.

    The eight columns are the extremes and the bounds as texts, whether each extreme exceeds its bound, and
    the NULL counts of the data and of the statistics.
    """
    statistics = FileStatisticsSql("stats")
    said = [f"{statistics.num_records()} AS records", f"{statistics.text('tightBounds')} AS tight"]
    asked = ["n", "records", "tight"]
    for i, leaf in enumerate(leaves):
        said.append(f"{statistics.null_count(leaf.physical)} AS counted{i}")
        if leaf.has_bounds:
            said.append(f"{statistics.lower_bound(leaf.physical, leaf.field)} AS lower{i}")
            said.append(f"{statistics.upper_bound(leaf.physical, leaf.field)} AS upper{i}")
            asked += [f"CAST({each}{i} AS VARCHAR)" for each in ("least", "greatest", "lower", "upper")]
            beyond = (f"least{i} < lower{i}", f"greatest{i} > upper{i}")
            asked += [f"coalesce(TRY({each}), false)" for each in beyond]
        else:
            asked.append("NULL, NULL, NULL, NULL, false, false")
        asked.append(f"nulls{i}, counted{i}")
    return f"SELECT {', '.join(asked)} FROM (SELECT *, {', '.join(said)} FROM files)"


def _is_false_count(
    leaf: _Leaf, said: int, nulls: int, count: int, records: int | None, *, exact: bool
) -> bool:
    """Whether a NULL count is wrong.

    With deletion vectors or wide bounds, only 0 and the number of records have a meaning. For a struct field,
    writers disagree on whether a NULL struct counts, so there 0 has none.
    """
    if said == records and nulls < count:
        return True
    if len(leaf.fields) > 1:
        return False
    return said != nulls if exact else said == 0 < nulls


def _short(text: str | None) -> str:
    shown = repr(text)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
