"""The live files of a table at a version, as one columnar list that predicates choose from.

The log reconciles actions and knows no predicate. Here file actions are the rows of a list, wherever they are
stored: in a checkpoint (`CheckpointRows`), in the commits after it (`CommitRows`) or in a table in memory
(`TableRows`). Each loads the columns that a predicate asks for, encoded partition values and typed bounds;
the columns of a checkpoint stay in the cache of the process. `deltaarrow.statistics.may_match` weighs them,
and only the rows that may match are read.
"""

from deltaarrow.live_files.file_list import LiveFiles

__all__ = ["LiveFiles"]
