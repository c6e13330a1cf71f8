"""The `TableMerger` of a MERGE in Spark's dialect."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltaarrow.operations import CommitProperties
from deltaarrow.sql.rows.replacement import NO_ALIAS
from deltaarrow.sql.session_settings import AUTO_MERGE
from deltaarrow.table import DeltaTable, TableMerger

if TYPE_CHECKING:
    from deltaarrow.sql.rows.statements import Merge
    from deltaarrow.sql.session import Session

__all__ = ["merger_of"]


def merger_of(
    session: "Session",
    table: DeltaTable,
    statement: "Merge",
    source: Any,
    properties: CommitProperties | None = None,
    *,
    reads_table: bool = False,
) -> TableMerger:
    """Return what merges rows into a table as a statement says.

    Args:
        session: knows whether columns are added that the table lacks.
        table: the table of the statement.
        statement: the MERGE.
        source: the rows of its source.
        properties: metadata and options of the commit.
        reads_table: whether the source was computed from the rows of the same version of the table.
    """
    merger = table.merge(
        source,
        statement.condition,
        statement.source_alias or NO_ALIAS,
        statement.alias or statement.table.parts[-1],
        statement.evolves or session.settings[AUTO_MERGE],
        commit_properties=properties,
    )
    return replace(merger, clauses=tuple(statement.changes), reads_table=reads_table)
