"""The live files of a table at a version, as one columnar list that predicates choose from.

The log reconciles actions and knows no predicate. Here file actions are the rows of a list, wherever they are
stored: in a checkpoint (`CheckpointRows`), in the commits after it (`CommitRows`) or in a table in memory
(`TableRows`). Each source loads the columns that a predicate asks for: encoded partition values and typed
bounds. Those of a checkpoint stay in the cache of the process. `deltaarrow.statistics.may_match` weighs them,
and the wanted columns are read only for the rows that are left.
"""

from deltaarrow.live_files.file_list import LiveFiles

__all__ = ["LiveFiles"]
