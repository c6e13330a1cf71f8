"""`LogLimits`: memory limits and read settings of a replayed log."""

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "LogLimits"]


@dataclass(frozen=True)
class LogLimits:
    """Sizes at which another way of reading becomes the quicker one; the answers are the same."""

    longest_tail: int = 20
    """Commits after a checkpoint; with more of them a newer checkpoint is looked for."""

    replayed_bytes: int = 1 << 16
    """The file actions of a checkpoint of up to so many bytes are replayed in memory, as those of commits.

    So many bytes of Parquet hold a few hundred files, which are read sooner than a query is prepared."""

    listed_bytes: int = 4 << 20
    """The files of a checkpoint of up to so many bytes are listed in memory from the second question on.

    A file takes 20 bytes in a checkpoint if names and statistics are alike, 100 if not, and about 800 in
    memory: these are 200,000 files at most."""

    selective: float = 1 / 8
    """Where partition values leave this share of rows at most, the statistics of those alone are read."""

    numbered_rows: int = 256
    """Up to so many rows of a checkpoint file are told to DuckDB by their numbers, more by a bit each."""

    rows_at_once: int = 1 << 14
    """Rows of partition values read at once; of a whole row group of 100,000 rows Arrow keeps 12 MB more."""

    divided_bytes: int = 128 << 20
    """A checkpoint of more bytes is read in tasks, if an executor is in use that runs them elsewhere.

    A file takes 20 to 100 bytes. One process weighs 4 million files in 3 seconds and 0.4 GB, and writes them
    in 20 seconds; the same by a job of Spark takes more CPU, so it begins to pay with several machines."""

    streamed_rows: int = 1 << 15
    """File actions read at a time where no list is needed: 5 MB with long paths."""


DEFAULT_LIMITS = LogLimits()
