"""`DeltaMergeBuilder`: the clauses of a MERGE, collected and carried out."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.dml import ClauseKind, MergeClause, When
from deltaarrow.spark.tables import operations
from deltaarrow.spark.tables.argument_checks import assigned, condition_of
from deltaarrow.spark.tables.column_sql import ColumnTexts
from deltaarrow.spark.tables.column_text import column_names
from deltaarrow.spark.tables.data_frames import arrow_frame
from deltaarrow.spark.tables.table_reference import TableReference
from deltaarrow.sql.rows.spark import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["DeltaMergeBuilder", "MergeScope"]

_NO_ALIAS = "__deltaarrow_source"
_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_QUALIFIED = re.compile(r"(`(?:[^`]|``)+`|[^\W\d]\w*)\s*\.")


@dataclass(frozen=True)
class MergeScope:
    """The two sides of a MERGE, over which its expressions are.

    Attributes:
        target: makes a frame with the columns of the table under its alias, whose rows nobody reads.
        source: the source.
        qualifier: the alias of the table.
    """

    target: "Callable[[], DataFrame]"
    source: "DataFrame"
    qualifier: str

    def texts(self, when: When, expressions: Iterable[object]) -> ColumnTexts:
        """The SQL of columns in a clause; `expressions` are those of the merge condition and the clause."""
        if when is When.NOT_MATCHED:
            return ColumnTexts([lambda: self.source])
        if when is When.NOT_MATCHED_BY_SOURCE:
            return ColumnTexts([self.target])
        alias = cache(lambda: self.source_alias(map(str, expressions)))
        frames = [
            lambda: self.target().crossJoin(self.source),
            # A source without an alias, whose columns are given as those of the frame, gets one here.
            lambda: self.target().crossJoin(self.source.alias(_NO_ALIAS)),
        ]
        return ColumnTexts(frames, lambda name: self._qualified(name, alias()))

    def _qualified(self, name: str, alias: str) -> list[str]:
        """Candidate SQL of a column that may belong to either side."""
        parts = column_names(name)
        both = [{each.lower() for each in side.columns} for side in (self.target(), self.source)]
        if parts is None or not all(parts[0].lower() in names for names in both):
            return [name]
        return [*(f"{quoted(side)}.{name}" for side in (alias, self.qualifier)), name]

    def source_alias(self, expressions: Iterable[str]) -> str:
        """Return the alias of the source, as expressions name it.

        PySpark does not expose the alias of a frame. An alias that no expression uses is not needed.

        Raises `UnsupportedFeatureError` if expressions name several.
        """
        columns = {each.lower() for side in (self.source, self.target()) for each in side.columns}
        named = dict.fromkeys(
            found.group(1).strip("`").replace("``", "`")
            for text in expressions
            for found in _QUALIFIED.finditer(_TEXTS.sub("''", text))
        )
        found = dict[str, str]()
        # A name that is also a column is asked about last.
        for each in sorted(named, key=lambda name: name.lower() in columns):
            is_needless = each.lower() == self.qualifier.lower() or (found and each.lower() in columns)
            if not is_needless and (each == _NO_ALIAS or self._is_alias(each)):
                found.setdefault(each.lower(), each)
        if len(found) > 1:
            raise UnsupportedFeatureError(
                f"the source of the merge is named {' and '.join(found.values())}: give it one alias, with"
                " source.alias('s')",
                feature="MERGE",
            )
        return next(iter(found.values()), _NO_ALIAS)

    def _is_alias(self, name: str) -> bool:
        try:
            return self.source.select(f"{quoted(name)}.*").columns == self.source.columns
        except PySparkException:
            return False


class DeltaMergeBuilder:
    """The clauses of a MERGE; `deltaarrow.spark.tables.DeltaTable.merge` begins one.

    Each method returns a new builder with one more clause. Clauses of one kind apply in their order.
    Conditions and values are SQL strings or PySpark columns over both sides; in clauses for rows without a
    match, over the side that has the row. ``execute`` runs the merge::

        merged = (
            table.alias("t")
            .merge(updates.alias("s"), "t.id = s.id")
            .whenMatchedDelete("s.gone")
            .whenMatchedUpdate(set={"count": "t.count + s.count"})
            .whenNotMatchedInsertAll()
            .execute()
        )
    """

    def __init__(
        self,
        spark: "SparkSession",
        table: TableReference,
        scope: MergeScope,
        condition: str,
        clauses: Sequence[MergeClause] = (),
        *,
        evolves: bool = False,
    ) -> None:
        self._spark, self._table, self._scope = spark, table, scope
        self._condition, self._clauses, self._evolves = condition, tuple(clauses), evolves

    @classmethod
    def begin(
        cls, spark: "SparkSession", table: TableReference, scope: MergeScope, condition: "Column | str"
    ) -> "DeltaMergeBuilder":
        """Begin a merge. Raises `TypeError` for a condition that is neither a string nor a column."""
        text = condition_of(condition, scope.texts(When.MATCHED, [condition]))
        assert text is not None
        return cls(spark, table, scope, text)

    def whenMatchedUpdate(
        self,
        condition: "Column | str | None" = None,
        set: "dict[str, str | Column] | None" = None,
    ) -> "DeltaMergeBuilder":
        """Update matched rows that meet a condition.

        Args:
            condition: a further condition; all matched rows without one.
            set: values by column name; needed.

        Raises:
            ValueError: `set` is missing.
            TypeError: an argument is of another type.
            UnsupportedFeatureError: a PySpark column cannot be converted to SQL.
        """
        return self._with(When.MATCHED, ClauseKind.UPDATE, condition, ("'set' in whenMatchedUpdate", set))

    def whenMatchedUpdateAll(self, condition: "Column | str | None" = None) -> "DeltaMergeBuilder":
        """Update all columns of matched rows from the columns of the source with the same names."""
        return self._with(When.MATCHED, ClauseKind.UPDATE, condition)

    def whenMatchedDelete(self, condition: "Column | str | None" = None) -> "DeltaMergeBuilder":
        """Delete matched rows that meet a condition."""
        return self._with(When.MATCHED, ClauseKind.DELETE, condition)

    def whenNotMatchedInsert(
        self,
        condition: "Column | str | None" = None,
        values: "dict[str, str | Column] | None" = None,
    ) -> "DeltaMergeBuilder":
        """Insert rows of the source without a match that meet a condition.

        Args:
            condition: a further condition on the source; all such rows without one.
            values: values by column name, over the source; needed. Other columns get their default, or NULL.

        Raises `ValueError`, `TypeError` and `UnsupportedFeatureError` as `whenMatchedUpdate`.
        """
        return self._with(
            When.NOT_MATCHED, ClauseKind.INSERT, condition, ("'values' in whenNotMatchedInsert", values)
        )

    def whenNotMatchedInsertAll(self, condition: "Column | str | None" = None) -> "DeltaMergeBuilder":
        """Insert rows of the source without a match, with all their columns."""
        return self._with(When.NOT_MATCHED, ClauseKind.INSERT, condition)

    def whenNotMatchedBySourceUpdate(
        self,
        condition: "Column | str | None" = None,
        set: "dict[str, str | Column] | None" = None,
    ) -> "DeltaMergeBuilder":
        """Update rows of the table without a match in the source.

        Args:
            condition: a further condition on the table; all such rows without one.
            set: values by column name, over the table; needed.

        Raises `ValueError`, `TypeError` and `UnsupportedFeatureError` as `whenMatchedUpdate`.
        """
        return self._with(
            When.NOT_MATCHED_BY_SOURCE,
            ClauseKind.UPDATE,
            condition,
            ("'set' in whenNotMatchedBySourceUpdate", set),
        )

    def whenNotMatchedBySourceDelete(self, condition: "Column | str | None" = None) -> "DeltaMergeBuilder":
        """Delete rows of the table without a match in the source that meet a condition."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, ClauseKind.DELETE, condition)

    def withSchemaEvolution(self) -> "DeltaMergeBuilder":
        """Let clauses add columns of the source that the table lacks."""
        return self._copy(self._clauses, evolves=True)

    def execute(self) -> "DataFrame":
        """Carry out the merge and commit it.

        Returns:
            One row: ``num_affected_rows``, ``num_updated_rows``, ``num_deleted_rows``, ``num_inserted_rows``.

        Raises:
            ValueError: there is no clause, or one that no row reaches.
            UnsupportedFeatureError: several rows of the source match one row of the table, or an expression
                or a feature of the table is not supported.
            SchemaMismatchError: a column is unknown, or a value does not fit its column.
            ConstraintViolationError: a row breaks a constraint, or a value cannot be computed.
            CommitFailedError: another writer has changed what the merge read.
        """
        texts = [self._condition]
        for each in self._clauses:
            texts += [*(() if each.predicate is None else (each.predicate,)), *(each.values or {}).values()]
        merging = operations.Merging(
            self._scope.source,
            self._scope.source_alias(texts),
            self._condition,
            self._clauses,
            self._evolves,
        )
        return arrow_frame(self._spark, operations.merge(self._spark, self._table, merging))

    def _with(
        self,
        when: When,
        kind: ClauseKind,
        condition: Any,
        values: tuple[str, Any] | None = None,
    ) -> "DeltaMergeBuilder":
        given = values[1] if values is not None else None
        listed = given.values() if isinstance(given, dict) else ()
        texts = self._scope.texts(when, [self._condition, condition, *listed])
        set_to = None if values is None else assigned(given, texts, values[0])
        clause = MergeClause(when, kind, condition_of(condition, texts), set_to)
        return self._copy((*self._clauses, clause), evolves=self._evolves)

    def _copy(self, clauses: Sequence[MergeClause], *, evolves: bool) -> "DeltaMergeBuilder":
        return DeltaMergeBuilder(
            self._spark, self._table, self._scope, self._condition, clauses, evolves=evolves
        )
