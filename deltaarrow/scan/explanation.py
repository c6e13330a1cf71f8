"""Explanation of a scan: the files that each part of a condition skips, with the evidence.

The numbers are those of the scan: every part, alone and together with the parts before it, is evaluated as in
`deltaarrow.scan.plan_scan`. A part that skips nothing has a reason. Chapter *Per-file Statistics* of
PROTOCOL.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.compute import quote_literal, sandbox_cursor
from deltaarrow.display.notebook import html_rows, html_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    And,
    Cast,
    Column,
    Compare,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    columns_of,
    conjuncts,
    resolve_column,
    variant_paths,
)
from deltaarrow.scan.plan import plan_scan, scan_schema
from deltaarrow.scan.row_id_columns import ROW_TRACKING_COLUMNS
from deltaarrow.scan.wording import plain_text, worded
from deltaarrow.schema import FLOATING, PrimitiveType, physical_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import (
    ROWS_CANNOT_MATCH,
    ROWS_MIGHT_MATCH,
    Asked,
    StatisticsColumn,
    Verdicts,
    statistics_asked,
    statistics_columns,
)

__all__ = ["Explanation", "Part", "explain_scan"]

PARTITION_VALUES = "partition values"
STATISTICS = "statistics"
ROW_IDS = "row ids"
NEVER_TRUE = "never true"

_NAN = "NaN in {} may match, and statistics leave NaN out"


@dataclass(frozen=True)
class Part:
    """One conjunct of a condition, and the files that it skips.

    Attributes:
        condition: the conjunct as text.
        evidence: the evidence that skips files: ``partition values``, ``statistics``, ``row ids``, ``never
            true`` for a conjunct that no row can match, or another name given by an engine; empty if the
            conjunct skips nothing.
        reason: why the conjunct skips nothing, or less than it might; None if there is no reason to give.
        skipped_files: the number of files that the conjunct alone skips.
        skipped_bytes: the size of these files.
        left_files: the number of files that this conjunct and the ones before it leave.
        left_bytes: the size of these files.
    """

    condition: str
    evidence: tuple[str, ...]
    reason: str | None
    skipped_files: int
    skipped_bytes: int
    left_files: int
    left_bytes: int


@dataclass(frozen=True)
class Explanation:
    """The files that a scan of a table reads, and the reasons for skipping the others.

    ``print`` shows it as text, notebooks as a table; `to_dict` and `to_json` are for programs.

    Attributes:
        table: the location of the table.
        version: the version that is read.
        files: the number of data files of that version.
        bytes: the size of these files.
        parts: the conjuncts of the condition, in order.
        left_files: the number of files to read.
        left_bytes: the size of these files, with all columns.
        columns: the columns to read, including those that only the condition needs.
        deletion_vectors: the number of files to read with a deletion vector.
        deleted_rows: the number of rows that these deletion vectors delete.
        notes: further notes of the engine.
    """

    table: str
    version: int
    files: int
    bytes: int
    parts: tuple[Part, ...]
    left_files: int
    left_bytes: int
    columns: tuple[str, ...]
    deletion_vectors: int
    deleted_rows: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the explanation as lines of text."""
        lines = [f"{plain_text(self.table)}, version {self.version}", self._summary]
        conditions = [part.condition for part in self.parts]
        width = min(max(map(len, conditions), default=0), 48)
        lines += [f"  {part.condition:<{width}}  {self._effect(part)}" for part in self.parts]
        lines += [f"{name}: {text}" for name, text in self._facts.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heading = {"table": self.table, "version": self.version, "files": self._summary}
        parts = [(part.condition, self._effect(part)) for part in self.parts]
        return html_table(heading) + html_rows(parts) + html_table(self._facts)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as dictionaries, lists, texts and numbers."""
        return asdict(self) | {
            "parts": [asdict(part) | {"evidence": list(part.evidence)} for part in self.parts],
            "columns": list(self.columns),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return `to_dict` as a JSON document."""
        return orjson.dumps(self.to_dict()).decode()

    @property
    def _summary(self) -> str:
        left, whole = _size(self.left_bytes), _size(self.bytes)
        return f"reads {self.left_files} of {_counted(self.files, 'file')}, {left} of {whole}"

    @property
    def _facts(self) -> dict[str, str]:
        facts = {"columns": ", ".join(map(plain_text, self.columns)) or "none"}
        if self.deletion_vectors:
            facts["deletion vectors"] = f"{self.deletion_vectors}, of {_counted(self.deleted_rows, 'row')}"
        return facts | ({"note": "; ".join(map(plain_text, self.notes))} if self.notes else {})

    def _effect(self, part: Part) -> str:
        if not part.evidence:
            return f"skips nothing: {part.reason}"
        by = " and ".join(part.evidence)
        text = f"{by}: skips {_counted(part.skipped_files, 'file')}, {part.left_files} left"
        return text if part.reason is None else f"{text} ({part.reason})"

    def then(self, condition: str, evidence: str, skipped: pa.Table, left: pa.Table) -> "Explanation":
        """Return the explanation with one more part, which the engine decides itself.

        Args:
            condition: the part as text.
            evidence: the evidence that the engine uses.
            skipped: the files that the part alone skips, with the columns of a plan.
            left: the files that remain after all parts, with the columns of a plan.
        """
        files, size = left.num_rows, _bytes(left)
        words = plain_text(condition)
        part = Part(words, (evidence,), None, skipped.num_rows, _bytes(skipped), files, size)
        vectors, rows = _deletions(left)
        return replace(
            self,
            parts=(*self.parts, part),
            left_files=files,
            left_bytes=size,
            deletion_vectors=vectors,
            deleted_rows=rows,
        )

    def idle(self, condition: str, reason: str) -> "Explanation":
        """Return the explanation with one more part, which skips no file for a reason."""
        part = Part(plain_text(condition), (), reason, 0, 0, self.left_files, self.left_bytes)
        return replace(self, parts=(*self.parts, part))


def explain_scan(
    snapshot: Snapshot, predicate: Predicate | None = None, columns: Sequence[str] | None = None
) -> Explanation:
    """Explain which files a scan of `columns` (None: all) reads for `predicate`. No data file is read.

    The cost is two evaluations of the file list, and up to two more for each part of the predicate.

    Raises the exceptions of `plan_scan`.

    >>> import deltaarrow, pyarrow as pa, tempfile
    >>> from deltaarrow.spark_sql import parse_condition
    >>> folder = tempfile.mkdtemp()
    >>> for numbers in ([1, 2], [30, 40]):
    ...     _ = deltaarrow.write_deltalake(folder, pa.table({"id": numbers}), mode="append")
    >>> snapshot = deltaarrow.DeltaTable(folder).snapshot
    >>> found = explain_scan(snapshot, parse_condition("id > 5", snapshot.schema).predicate)
    >>> found.files, found.left_files, found.parts[0].evidence
    (2, 1, ('statistics',))
    """
    plan = plan_scan(snapshot, predicate, columns)
    everything = snapshot.files(columns=["size"])
    whole = everything.num_rows, _bytes(everything)
    vectors, deleted = _deletions(plan.files)
    explanation = Explanation(
        table=redacted(snapshot.store.uri),
        version=snapshot.version,
        files=whole[0],
        bytes=whole[1],
        parts=(),
        left_files=plan.files.num_rows,
        left_bytes=plan.size,
        columns=plan.columns,
        deletion_vectors=vectors,
        deleted_rows=deleted,
    )
    given = [] if predicate is None else _spoken(snapshot, conjuncts(predicate))
    left, parts = whole, []
    for number, each in enumerate(given, start=1):
        alone = _amount(snapshot, each)
        if number == len(given):
            left = explanation.left_files, explanation.left_bytes
        elif alone != whole:
            left = alone if left == whole else _amount(snapshot, And(tuple(given[:number])))
        evidence = _evidence(snapshot, each) if alone != whole or _is_decided(snapshot, each) else ()
        reason = None if evidence else _why_unusable(snapshot, each)
        if STATISTICS in evidence and alone == whole:
            reason = _why_idle(snapshot, each)
        parts.append(Part(worded(each), evidence, reason, whole[0] - alone[0], whole[1] - alone[1], *left))
    return replace(explanation, parts=tuple(parts))


def _spoken(snapshot: Snapshot, parts: Sequence[Predicate]) -> list[Predicate]:
    """Return the parts without duplicates, and without IS NOT NULL if another part implies it."""
    known = set()
    for part in parts:
        match part:
            case (
                Compare(_, Column() as column, _) | IsIn(Column() as column, _, _) | StartsWith(column, _)
            ) if _is_decided(snapshot, part):
                known.add(column)
    implied = {Not(IsNull(column)) for column in known}
    return [part for part in dict.fromkeys(parts) if part not in implied]


# --- amounts ---------------------------------------------------------------------------------------


def _amount(snapshot: Snapshot, predicate: Predicate) -> tuple[int, int]:
    """Return the number of files that may match, and their size."""
    files = snapshot.files(predicate, ["size"])
    return files.num_rows, _bytes(files)


def _bytes(files: pa.Table) -> int:
    return pc.sum(files.column("size"), min_count=0).as_py() or 0


def _deletions(files: pa.Table) -> tuple[int, int]:
    """Return the number of deletion vectors, and the number of rows that they delete."""
    vectors = files.column("deletion_vector").drop_null()
    cardinalities = pc.struct_field(vectors, "cardinality")
    return len(vectors), pc.sum(cardinalities, min_count=0).as_py() or 0


def _size(count: int) -> str:
    """Render a number of bytes for display.

    >>> _size(999), _size(1_234_567)
    ('999 B', '1.2 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# --- reasons ---------------------------------------------------------------------------------------


def _decision(snapshot: Snapshot, part: Predicate) -> tuple[Sequence[Asked], Verdicts]:
    """Return the statistics that a part needs, and its verdict if it needs no file."""
    return statistics_asked(part, snapshot.schema, snapshot.mapping_mode, snapshot.partition_columns)


def _is_decided(snapshot: Snapshot, part: Predicate) -> bool:
    """Whether partition values or statistics can skip a file."""
    return _decision(snapshot, part)[1] is not ROWS_MIGHT_MATCH


def _evidence(snapshot: Snapshot, part: Predicate) -> tuple[str, ...]:
    """Return the evidence for a part that can skip files."""
    if _decision(snapshot, part)[1] is ROWS_CANNOT_MATCH:
        return (NEVER_TRUE,)
    return tuple(dict.fromkeys(_evidence_of(snapshot, name) for name, *_ in sorted(columns_of(part))))


def _evidence_of(snapshot: Snapshot, column: str) -> str:
    if column in snapshot.partition_columns:
        return PARTITION_VALUES
    is_own = column in snapshot.schema.names
    return ROW_IDS if column in ROW_TRACKING_COLUMNS and not is_own else STATISTICS


def _why_unusable(snapshot: Snapshot, part: Predicate) -> str:
    """Return the reason why the log decides nothing about a part."""
    reasons = (_why_undecided(snapshot, leaf) for leaf in _conditions(part))
    return next((reason for reason in reasons if reason is not None), "the log does not decide it")


def _conditions(node: Predicate) -> Iterable[Predicate]:
    """Yield the conditions below AND, OR and NOT."""
    match node:
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _conditions(operand)
        case Not(operand):
            yield from _conditions(operand)
        case _:
            yield node


def _why_undecided(snapshot: Snapshot, condition: Predicate) -> str | None:
    """Return the reason why the log does not decide one condition; None if it does."""
    if isinstance(condition, Opaque):
        return "neither partition values nor statistics can decide it"
    if _is_decided(snapshot, condition):
        return None
    if variant_paths(condition):
        return "the statistics of the variant skip no file"
    for path in sorted(columns_of(condition)):
        name = ".".join(path)
        if _evidence_of(snapshot, path[0]) == ROW_IDS:
            return f"the log cannot decide this condition on {name}"
        try:
            field = resolve_column(scan_schema(snapshot), path)[-1]
        except InvalidPredicateError:
            return f"the table has no column {plain_text(name)}"
        if not isinstance(field.type, PrimitiveType):
            return f"{plain_text(name)} is nested, and statistics do not describe it as a whole"
        if field.type in FLOATING:
            return _NAN.format(plain_text(name))
        if isinstance(condition, IsNull) and len(path) > 1:
            return f"NULL counts of {plain_text(name)} may leave out rows whose struct is NULL"
    if isinstance(condition, Compare) and any(
        isinstance(side, Cast) for side in (condition.left, condition.right)
    ):
        return "a cast may change values"
    return None


def _why_idle(snapshot: Snapshot, part: Predicate) -> str | None:
    """Return what the statistics lack, if that is why they skip no file for a part; else None."""
    columns = [path for path in sorted(columns_of(part)) if _evidence_of(snapshot, path[0]) == STATISTICS]
    # A variant has bounds per path, which may not include the requested path.
    wants_bounds = not any(isinstance(each, IsNull) for each in _conditions(part)) and not variant_paths(part)
    stats = snapshot.files(columns=["stats"])
    reasons = [_why_silent(snapshot, path, stats, wants_bounds=wants_bounds) for path in columns]
    asked, _ = _decision(snapshot, part)
    if wants_bounds and not any(each.what in ("lower", "upper") for each in asked):
        reasons += [_why_unordered(snapshot, path) for path in columns]
    return next((reason for reason in reasons if reason is not None), None)


def _why_unordered(snapshot: Snapshot, path: tuple[str, ...]) -> str | None:
    """Return the reason if NaN prevents bounds from deciding a condition on a column; else None."""
    data_type = resolve_column(snapshot.schema, path)[-1].type
    if data_type in FLOATING:
        return _NAN.format(plain_text(".".join(path)))
    return None


def _why_silent(
    snapshot: Snapshot, path: tuple[str, ...], stats: pa.Table, *, wants_bounds: bool
) -> str | None:
    """Return which statistics of a column are missing, or how many files lack them; else None."""
    try:
        fields = resolve_column(snapshot.schema, path)
    except InvalidPredicateError:
        return None
    physical = tuple(physical_name(field, snapshot.mapping_mode) for field in fields)
    members = [_json_member(kind, *physical) for kind in ("nullCount", "nullCounts", "minValues")]
    with sandbox_cursor() as cursor:
        cursor.register("files", stats)
        silence = f"count(*) FILTER (coalesce({', '.join(members)}) IS NULL)"
        ((silent, bounded),) = cursor.sql(f"SELECT {silence}, count({members[-1]}) FROM files").fetchall()
    name, data_type = plain_text(".".join(path)), fields[-1].type
    has_bounds = bounded or StatisticsColumn(physical, data_type).has_bounds
    if silent < stats.num_rows and wants_bounds and not has_bounds:
        kind = data_type.type if isinstance(data_type, PrimitiveType) else "nested"
        return f"{name} is {kind}, and its statistics have no bounds"
    if not silent:
        return None
    of = "no file has" if silent == stats.num_rows else f"{_counted(silent, 'file')} without"
    reason = f"{of} statistics of {name}"
    collected = statistics_columns(
        snapshot.schema, snapshot.partition_columns, snapshot.configuration, snapshot.mapping_mode
    )
    if all(each.path[: len(physical)] != physical for each in collected):
        reason += ", which the table properties exclude from statistics"
    return reason


def _json_member(*path: str) -> str:
    """Return the SQL of a member of the statistics as JSON; NULL if it is absent or the JSON is invalid."""
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    return f"TRY(json_extract(stats, {quote_literal(pointer)}))"
