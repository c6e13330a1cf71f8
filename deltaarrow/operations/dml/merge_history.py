"""History entry of a MERGE: delta-spark's parameters and metrics."""

from collections.abc import Sequence
from typing import Any

import orjson

from deltaarrow.operations.commit.operation_parameters import predicates_parameter
from deltaarrow.operations.dml.changed_rows import ClauseKind
from deltaarrow.operations.dml.merge_statement import MergeClause, MergeStatement, When
from deltaarrow.operations.dml.operation import milliseconds
from deltaarrow.operations.dml.staging import StagedRows

__all__ = ["merge_metrics", "merge_parameters"]


def merge_parameters(statement: MergeStatement) -> dict[str, Any]:
    """Return the operation parameters of a MERGE."""
    return {
        "predicate": predicates_parameter(statement.predicate),
        "matchedPredicates": _clauses(statement.of(When.MATCHED)),
        "notMatchedBySourcePredicates": _clauses(statement.of(When.NOT_MATCHED_BY_SOURCE)),
        "notMatchedPredicates": _clauses(statement.of(When.NOT_MATCHED)),
    }


def _clauses(clauses: Sequence[MergeClause]) -> str:
    said = []
    for each in clauses:
        condition = {} if each.predicate is None else {"predicate": f"({each.predicate})"}
        said.append({**condition, "actionType": str(each.kind)})
    return orjson.dumps(said).decode()


def merge_metrics(statement: MergeStatement, staged: StagedRows, source_rows: int) -> dict[str, int]:
    """Return the operation metrics of a MERGE."""

    def rows(kind: ClauseKind, *whens: When) -> int:
        return staged.rows(
            number
            for number, each in enumerate(statement.clauses)
            if each.kind is kind and (not whens or each.when in whens)
        )

    inserted = rows(ClauseKind.INSERT)
    updated = rows(ClauseKind.UPDATE)
    return {
        "numSourceRows": source_rows,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": rows(ClauseKind.UPDATE, When.MATCHED),
        "numTargetRowsNotMatchedBySourceUpdated": rows(ClauseKind.UPDATE, When.NOT_MATCHED_BY_SOURCE),
        "numTargetRowsDeleted": rows(ClauseKind.DELETE),
        "numTargetRowsMatchedDeleted": rows(ClauseKind.DELETE, When.MATCHED),
        "numTargetRowsNotMatchedBySourceDeleted": rows(ClauseKind.DELETE, When.NOT_MATCHED_BY_SOURCE),
        "numTargetRowsCopied": staged.copied_rows,
        "numOutputRows": inserted + updated + staged.copied_rows,
        "numTargetFilesAdded": len(staged.added),
        "numTargetFilesRemoved": staged.losses.removed_files,
        "numTargetBytesAdded": sum(each.size for each in staged.added),
        "numTargetBytesRemoved": staged.losses.removed_bytes,
        "numTargetChangeFilesAdded": len(staged.change_files),
        "numTargetDeletionVectorsAdded": staged.losses.vectors_added,
        "numTargetDeletionVectorsUpdated": staged.losses.vectors_updated,
        "numTargetDeletionVectorsRemoved": staged.losses.vectors_removed,
        "scanTimeMs": milliseconds(staged.scan_seconds),
        "rewriteTimeMs": milliseconds(staged.seconds - staged.scan_seconds),
    }
