"""What a MERGE says: its source, the condition by which rows match, and its clauses in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from deltaarrow.operations.dml.query import ClauseKind

__all__ = ["MergeClause", "MergeStatement", "When"]


class When(StrEnum):
    """Which rows a clause is for."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


@dataclass(frozen=True)
class MergeClause:
    """One clause.

    Args:
        when: the rows that it is for.
        kind: what it does with them.
        predicate: the condition beside that; None for all of them.
        values: expressions by the names of columns; None for ``*``, the columns of the source.
        except_columns: columns that ``*`` leaves out.
    """

    when: When
    kind: ClauseKind
    predicate: str | None = None
    values: Mapping[str, str] | None = None
    except_columns: tuple[str, ...] = ()

    @property
    def is_star(self) -> bool:
        """Whether it takes the columns of the source by their names."""
        return self.kind is not ClauseKind.DELETE and self.values is None


@dataclass(frozen=True)
class MergeStatement:
    """One statement; rows of the source match rows of the target where `predicate` is TRUE."""

    predicate: str
    clauses: Sequence[MergeClause]
    source_alias: str = "source"
    target_alias: str = "target"
    merges_schema: bool = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for a statement that cannot be meant so."""
        if not self.clauses:
            raise ValueError("a merge has no clause: say what happens to rows by one of its when_ methods")
        if self.source_alias.lower() == self.target_alias.lower():
            raise ValueError(f"source and target are both called {self.source_alias!r}")
        for when in When:
            group = self.of(when)
            if any(each.predicate is None for each in group[:-1]):
                raise ValueError(f"only the last of the clauses for rows {when} may be without a predicate")

    def of(self, when: When) -> list[MergeClause]:
        """Return the clauses for some rows."""
        return [each for each in self.clauses if each.when is when]

    @property
    def only_inserts(self) -> bool:
        """Whether no row of the table changes."""
        return all(each.when is When.NOT_MATCHED for each in self.clauses)

    @property
    def may_match_repeatedly(self) -> bool:
        """Whether it does not matter how many rows of the source match a row: it goes in any case."""
        matched = self.of(When.MATCHED)
        return len(matched) == 1 and matched[0].kind is ClauseKind.DELETE and matched[0].predicate is None
