"""The live files of a table version, as one columnar list that predicates select from.

The log reconciles actions and knows no predicates. Here file actions are the rows of a list, wherever they
are
stored: in a checkpoint (`CheckpointRows`), in the commits after it (`CommitRows`) or in a table in memory
(`TableRows`). Each source loads the columns that a predicate needs: encoded partition values and typed
bounds. Those of a checkpoint stay in the process-wide cache. `deltaarrow.statistics.may_match` evaluates
them, and the wanted columns are read only for the remaining rows.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.live_files.file_list import LiveFiles as LiveFiles

__getattr__ = lazy_package(__name__)
