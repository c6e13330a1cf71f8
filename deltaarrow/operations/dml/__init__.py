"""DELETE, UPDATE and MERGE: operations on the rows of a table, in bounded memory.

One query of DuckDB finds the rows and computes what they become (`query`, `row_scope`); they stream through
`staging`, which marks or rewrites files, writes new ones and change data; `operation` is what all have in
common from the beginning to the commit. Newcomers begin at `delete`.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.dml.delete import delete_rows as delete_rows
    from deltaarrow.operations.dml.merge import explain_merge as explain_merge, merge_rows as merge_rows
    from deltaarrow.operations.dml.merge_statement import (
        MergeClause as MergeClause,
        MergeStatement as MergeStatement,
        When as When,
    )
    from deltaarrow.operations.dml.operation import RowOperation as RowOperation
    from deltaarrow.operations.dml.query import ClauseKind as ClauseKind
    from deltaarrow.operations.dml.update import update_rows as update_rows

__getattr__ = lazy_package(__name__)
