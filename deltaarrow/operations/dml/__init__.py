"""DELETE, UPDATE and MERGE: operations on the rows of a table, in bounded memory.

One query of DuckDB finds the rows and computes what they become (`query`, `row_scope`); they stream through
`staging`, which marks or rewrites files, writes new ones and change data; `operation` is what all have in
common from the beginning to the commit. Newcomers begin at `delete`.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.operations.dml.delete import delete_rows
    from deltaarrow.operations.dml.merge import explain_merge, merge_rows
    from deltaarrow.operations.dml.merge_statement import MergeClause, MergeStatement, When
    from deltaarrow.operations.dml.operation import RowOperation
    from deltaarrow.operations.dml.query import ClauseKind
    from deltaarrow.operations.dml.update import update_rows

__all__ = [
    "ClauseKind",
    "MergeClause",
    "MergeStatement",
    "RowOperation",
    "When",
    "delete_rows",
    "explain_merge",
    "merge_rows",
    "update_rows",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "ClauseKind": "deltaarrow.operations.dml.query",
        "MergeClause": "deltaarrow.operations.dml.merge_statement",
        "MergeStatement": "deltaarrow.operations.dml.merge_statement",
        "RowOperation": "deltaarrow.operations.dml.operation",
        "When": "deltaarrow.operations.dml.merge_statement",
        "delete_rows": "deltaarrow.operations.dml.delete",
        "explain_merge": "deltaarrow.operations.dml.merge",
        "merge_rows": "deltaarrow.operations.dml.merge",
        "update_rows": "deltaarrow.operations.dml.update",
    },
)
