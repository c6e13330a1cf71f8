"""The live files of a table at a version, as one list that is asked by predicates.

The log reconciles and knows no predicate. Here its file actions are the rows of a list, wherever they are
stored: in a checkpoint (`CheckpointRows`), in the commits after it (`CommitRows`) or in a table in memory
(`TableRows`). Each loads the columns that a predicate asks for, encoded partition values and typed bounds,
and those of a checkpoint stay in the cache of the process. `deltaarrow.statistics.may_match` weighs them, and
only the rows that are left are read.
"""

from deltaarrow.live_files.file_list import LiveFiles

__all__ = ["LiveFiles"]
