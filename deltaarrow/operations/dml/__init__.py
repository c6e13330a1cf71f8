"""DELETE, UPDATE and MERGE: operations on the rows of a table, in bounded memory.

One DuckDB query finds the rows and computes their new values (`query`, `row_scope`). The rows stream through
`staging`, which marks or rewrites files and writes new files and change data. `operation` holds what all
operations share, from begin to commit. Start reading at `delete`.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.dml.assignments import parse_target as parse_target
    from deltaarrow.operations.dml.changed_rows import (
        NO_CLAUSE as NO_CLAUSE,
        ClauseKind as ClauseKind,
        computing_rows as computing_rows,
    )
    from deltaarrow.operations.dml.delete import delete_rows as delete_rows, explain_delete as explain_delete
    from deltaarrow.operations.dml.found import (
        RowQuery as RowQuery,
        change_found_rows as change_found_rows,
        explain_found_rows as explain_found_rows,
    )
    from deltaarrow.operations.dml.merge import explain_merge as explain_merge, merge_rows as merge_rows
    from deltaarrow.operations.dml.merge_pruning import equal_to_values as equal_to_values
    from deltaarrow.operations.dml.merge_statement import (
        MergeClause as MergeClause,
        MergeStatement as MergeStatement,
        When as When,
        first_met as first_met,
    )
    from deltaarrow.operations.dml.operation import RowOperation as RowOperation
    from deltaarrow.operations.dml.replace import replace_rows as replace_rows
    from deltaarrow.operations.dml.update import explain_update as explain_update, update_rows as update_rows

__getattr__ = lazy_package(__name__)
