"""`MergeStatement`: the match condition of a MERGE, its aliases, and its clauses in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from deltaarrow.operations.dml.changed_rows import ClauseKind

__all__ = ["MergeClause", "MergeStatement", "When", "clause_sql", "first_met"]


class When(StrEnum):
    """The kind of rows that a clause applies to."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


_SPARKS_NAME = {
    When.MATCHED: "MATCHED",
    When.NOT_MATCHED: "NOT_MATCHED_BY_TARGET",
    When.NOT_MATCHED_BY_SOURCE: "NOT_MATCHED_BY_SOURCE",
}
"""How Spark's classes of errors call the rows of a clause."""


@dataclass(frozen=True)
class MergeClause:
    """One clause of a MERGE.

    Args:
        when: the kind of rows that the clause applies to.
        kind: the change to these rows.
        predicate: a further condition on the rows; None for all of them.
        values: expressions by column name; None for ``*``, all columns of the source.
        except_columns: columns that ``*`` leaves out.
    """

    when: When
    kind: ClauseKind
    predicate: str | None = None
    values: Mapping[str, str] | None = None
    except_columns: tuple[str, ...] = ()

    @property
    def is_star(self) -> bool:
        """Whether the clause is ``UPDATE SET *`` or ``INSERT *``: columns of the source by name."""
        return self.kind is not ClauseKind.DELETE and self.values is None


@dataclass(frozen=True)
class MergeStatement:
    """A MERGE statement; a source row matches a target row if `predicate` is TRUE."""

    predicate: str
    clauses: Sequence[MergeClause]
    source_alias: str = "source"
    target_alias: str = "target"
    merges_schema: bool = False
    tries: bool = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for a statement without clauses, with unreachable ones or with equal aliases."""
        if not self.clauses:
            raise ValueError(
                "the merge has no clause; add one with a when_ method, such as when_matched_update_all()"
            )
        if self.source_alias.lower() == self.target_alias.lower():
            raise ValueError(
                f"source and target have the same alias {self.source_alias!r};"
                " give different names as source_alias and target_alias"
            )
        for when in When:
            group = self.of(when)
            if any(each.predicate is None for each in group[:-1]):
                raise ValueError(
                    f"only the last of the clauses for rows {when} may have no predicate: clauses after it"
                    " would never apply; reorder the clauses or add a predicate"
                    f" (Spark: NON_LAST_{_SPARKS_NAME[when]}_CLAUSE_OMIT_CONDITION)"
                )

    def of(self, when: When) -> list[MergeClause]:
        """Return the clauses for one kind of rows."""
        return [each for each in self.clauses if each.when is when]

    @property
    def only_inserts(self) -> bool:
        """Whether the merge inserts rows and changes no existing row."""
        return all(each.when is When.NOT_MATCHED for each in self.clauses)

    @property
    def may_match_repeatedly(self) -> bool:
        """Whether several source rows may match one row: the only matched clause deletes the row anyway."""
        matched = self.of(When.MATCHED)
        return len(matched) == 1 and matched[0].kind is ClauseKind.DELETE and matched[0].predicate is None


def clause_sql(
    conditions: Sequence[tuple[When, str | None]], position: str, present: str, unchanged: str
) -> str:
    """Return the SQL of the number of the first clause that applies to a row; NULL if none does.

    Args:
        conditions: the rows that each clause is for, and the SQL of its further condition.
        position: the SQL of a column that is NULL for a source row without a match.
        present: the SQL of a column that is NULL for a row of the table without a match.
        unchanged: the SQL of the result for a matched row without an applicable clause.
    """

    def met(when: When, otherwise: str) -> str:
        own = [(sql, str(number)) for number, (rows, sql) in enumerate(conditions) if rows is when]
        return first_met(own, otherwise)

    return (
        f"CAST(CASE WHEN {position} IS NULL THEN {met(When.NOT_MATCHED, 'NULL')}"
        f" WHEN {present} IS NULL THEN {met(When.NOT_MATCHED_BY_SOURCE, 'NULL')}"
        f" ELSE {met(When.MATCHED, unchanged)} END AS TINYINT)"
    )


def first_met(results: Sequence[tuple[str | None, str]], otherwise: str) -> str:
    """Return the SQL of the result of the first condition that is met.

    Args:
        results: conditions, None for one that is always met, and their results.
        otherwise: the result if none is met.
    """
    branches = []
    for condition, result in results:
        if condition is None:
            otherwise = result
            break
        branches.append(f"WHEN {condition} THEN {result}")
    return f"CASE {' '.join(branches)} ELSE {otherwise} END" if branches else otherwise
