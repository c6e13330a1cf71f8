"""The file actions of a large checkpoint as rows of a list, read column by column.

The columns that a predicate needs are read once for all rows and cached: the codes of a partition column
(`EncodedPartitionValues`), the bounds of a data column. The wanted columns are then read by row number, for
the remaining files only.

Another writer may rewrite a checkpoint whose name has no UUID: same content, other row order. So each cache
key contains the identity of the files, and after reading rows by number, `are_current` tells whether the
files stayed the same.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions import AddFile
from deltaarrow.columnar.numpy_arrays import validity
from deltaarrow.columnar.parquet_footers import Footer, read_footer
from deltaarrow.log import LogState
from deltaarrow.log.checkpoints import CheckpointFiles, open_file
from deltaarrow.log.file_names import has_unique_name
from deltaarrow.log.file_sources import FileSources, OpenSources
from deltaarrow.log.row_numbers import PLACE, numbered_from, row_condition
from deltaarrow.partitions import EncodedPartitionValues
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.statistics import Asked, read_statistics
from deltaarrow.storage import OpenFile

__all__ = ["CheckpointRows", "UnreadableRowsError"]

_PARTITION_VALUES = "partitionValues"
_REQUESTS = 8
"""Row groups of a remote checkpoint that are read at the same time."""


class UnreadableRowsError(Exception):
    """Rows of a checkpoint without stable numbers, or in a form that the columnar reader does not expect."""


class CheckpointRows:
    """The rows of Parquet files of one schema, file by file.

    Args:
        state: the version.
        files: files of its checkpoint.

    Raises `UnreadableRowsError` if the store cannot tell a file from its replacement.
    """

    def __init__(self, state: LogState, files: CheckpointFiles) -> None:
        self._state = state
        self._files = files
        found = self._found_identities()
        if None in found.values():
            raise UnreadableRowsError(f"{state.store.uri} cannot tell a file from its replacement")
        self._identities = found
        self.identity: tuple[Hashable, ...] = (self._files.names, *found.values())
        """The names of the files, with what tells each from a replacement; equal in other processes."""

    @property
    def evidence(self) -> "_CheckpointEvidence":
        """As `FileRows`; a new object each time, since it keeps what it has read of all rows."""
        return _CheckpointEvidence(self)

    def _found_identities(self) -> dict[str, Hashable | None]:
        """What tells each file that may be replaced from its replacement; None for what is not known."""
        found: dict[str, Hashable | None] = {}
        for name in self._files.names:
            if not has_unique_name(name):
                try:
                    found[name] = self._state.store.identity(name)
                except FileNotFoundError:
                    found[name] = None
        return found

    def are_current(self) -> bool:
        """Whether the files are still those that were read."""
        return self._found_identities() == self._identities

    @cached_property
    def _opened(self) -> dict[str, OpenFile]:
        """Those of the files that stay open for all of the reads."""
        store, cache = self._state.store, self.cache
        found = {name: open_file(store, name, known, cache) for name, known in self._identities.items()}
        return {name: opened for name, opened in found.items() if opened is not None}

    def _part(self, *names: str) -> CheckpointFiles:
        """Some of the files, for DuckDB."""
        addresses = {name: opened.address for name, opened in self._opened.items()}
        return CheckpointFiles(names, self._files.schema, addresses)

    @property
    def _all(self) -> CheckpointFiles:
        return self._part(*self._files.names)

    def _source(self, name: str) -> pa.NativeFile:
        """A file, for Arrow."""
        if name in self._opened:
            return self._opened[name].arrow_file()
        return self._filesystem.open_input_file(self._state.store.arrow_path(name))

    def __len__(self) -> int:
        return int(self._ends[-1])

    @cached_property
    def _footers(self) -> list[Footer]:
        """The checked footers of the files.

        Raises `UnreadableRowsError` for a footer that contradicts itself.
        """

        def read() -> list[Footer]:
            found = []
            for name in self._files.names:
                with self._source(name) as source:
                    found.append(read_footer(source))
            return found

        try:
            return self.cache.find(
                self.key("footers"), read, nbytes=lambda footers: sum(len(each.data) for each in footers)
            )
        except (ValueError, OSError) as error:
            raise UnreadableRowsError(str(error)) from error

    @cached_property
    def _filesystem(self) -> Any:
        return self._state.store.arrow_filesystem()

    @cached_property
    def _counts(self) -> list[int]:
        """The number of rows of each file."""
        return [sum(group.num_rows for group in footer.row_groups) for footer in self._footers]

    @cached_property
    def _ends(self) -> np.ndarray:
        """The number after the last row of each file."""
        return np.cumsum(self._counts)

    @property
    def cache(self) -> CacheSpace:
        """The cache of the checkpoint."""
        return self._state.checkpoint_cache

    def key(self, what: Hashable) -> Hashable:
        """Return a cache key for `what` that is valid only for these very files."""
        return self.identity, what

    # --- reading ---

    def read_partition_values(self, name: str) -> EncodedPartitionValues:
        """Read the values of a partition column for all rows.

        Raises `UnreadableRowsError` if Arrow does not read them as a map of texts.
        """
        try:
            return EncodedPartitionValues.of(self._partition_maps(), name)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise UnreadableRowsError(str(error)) from error

    def _partition_maps(self) -> Iterator[tuple[pa.MapArray, np.ndarray | None]]:
        """Yield the maps of partition values per batch, each with a mask of the rows that are files."""
        for number in range(len(self._files.names)):
            for adds in self._adds(number):
                maps = adds.field(_PARTITION_VALUES)
                if not pa.types.is_map(maps.type):
                    raise UnreadableRowsError(f"{self._files.names[number]}: {maps.type}")
                yield maps, validity(adds)

    def _adds(self, number: int) -> Iterator[pa.StructArray]:
        """Yield the `add` column of a file, reduced to its partition values, in batches."""
        import pyarrow.parquet as pq

        name, metadata = self._files.names[number], self._footers[number].metadata()
        at_once = self._state.limits.rows_at_once
        leaves = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
        # Parquet stores the texts as dictionary codes, which are read in a third of the time of the texts.
        texts = [leaf for leaf in leaves if leaf.startswith(f"add.{_PARTITION_VALUES}.")]

        def read(group: int) -> Iterator[pa.StructArray]:
            # One row group at a time: a batch across row groups would have two dictionaries.
            columns = [f"add.{_PARTITION_VALUES}"]
            with (
                self._source(name) as source,
                pq.ParquetFile(source, metadata=metadata, read_dictionary=texts) as file,
            ):
                for batch in file.iter_batches(at_once, [group], columns, use_threads=False):
                    yield batch.column("add")

        groups = range(metadata.num_row_groups)
        if self._state.store.is_local or len(groups) < 2:
            for group in groups:
                yield from read(group)
            return
        # Each row group is a request, whose answer takes longer than to read it.
        with ThreadPoolExecutor(_REQUESTS) as pool:
            for found in pool.map(lambda group: list(read(group)), groups):
                yield from found

    def read_statistics(self, asked: Sequence[Asked], rows: np.ndarray | None) -> dict[Asked, pa.Array]:
        """Read the requested statistics of `rows`, or of all rows."""
        files = self._files
        has_json = files.has_json_statistics
        if files.stats_parsed_type is not None and has_json and rows is None:
            # Skip the long JSON texts if the struct has all values.
            found = self._read_statistics(asked, rows, has_json=False)
            if all(len(column) - column.null_count == self._files_count for column in found.values()):
                return found
        return self._read_statistics(asked, rows, has_json=has_json)

    @cached_property
    def _files_count(self) -> int | None:
        """The number of rows that are files, from the footers; None if they do not tell."""
        count = 0
        for footer, rows in zip(self._footers, self._counts, strict=True):
            paths = [number for number, leaf in enumerate(footer.leaves) if leaf.path == ("add", "path")]
            if len(paths) != 1:
                return None
            nulls = [group.chunks[paths[0]].null_count for group in footer.row_groups]
            if None in nulls:
                return None
            count += rows - sum(each for each in nulls if each is not None)
        return count

    def _read_statistics(
        self, asked: Sequence[Asked], rows: np.ndarray | None, *, has_json: bool
    ) -> dict[Asked, pa.Array]:
        has_struct = self._files.stats_parsed_type is not None
        columns = [PLACE] + ["stats"] * has_json + ["stats_parsed"] * has_struct
        with FileSources(self._state).open(AddFile.KEY) as sources:
            selects = [
                numbered_from(number, sql)
                for part, among, number in self._among(sources, rows)
                if (sql := part.sql(self._state.store, AddFile.KEY, columns, sources.schema, among=among))
            ]
            found = read_statistics(
                sources.cursor,
                " UNION ALL ".join(selects),
                asked,
                self._files.stats_parsed_type,
                has_json=has_json,
            )
        wanted = len(self) if rows is None else len(rows)
        if any(len(column) != wanted for column in found.values()):
            raise UnreadableRowsError("the files have changed")
        return found

    def table(self, rows: np.ndarray | None, columns: Sequence[str]) -> pa.Table:
        """As `FileRows`."""
        with FileSources(self._state).open(AddFile.KEY) as sources:
            parts = self._among(sources, rows) if rows is not None else [(self._all, None, 0)]
            # Some writers leave an empty struct where others leave NULL.
            found = [(part, among and f"{among} AND add.path IS NOT NULL") for part, among, _ in parts]
            return sources.table(found, columns)

    def _among(
        self, sources: OpenSources, rows: np.ndarray | None
    ) -> Iterable[tuple[CheckpointFiles, str, int]]:
        """The files that contain `rows`, each with a condition on ``file_row_number`` and its number."""
        if rows is None:
            yield self._all, "TRUE", 0
            return
        numbers = np.searchsorted(self._ends, rows, "right")
        starts = self._ends - self._counts
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            found = rows[numbers == number] - starts[number]
            file = self._part(self._files.names[number])
            yield file, row_condition(sources.cursor, found, self._state.limits.numbered_rows), number


class _CheckpointEvidence:
    """What rows of a checkpoint (None: all) say of their files; as `LoadedEvidence`.

    Values read for all rows go to the cache. They also stay here until they are used, since the cache may be
    too small for them.
    """

    def __init__(self, of: CheckpointRows, rows: np.ndarray | None = None) -> None:
        self._of = of
        self._rows = rows
        self._loaded: dict[Asked, pa.Array] = {}

    def load(self, asked: Sequence[Asked]) -> None:
        """Read the requested statistics."""
        self._recall(asked)
        missing = [each for each in asked if each not in self._loaded]
        if missing:
            found = self._of.read_statistics(missing, self._rows)
            self._loaded |= found
            if self._rows is None:
                for each, column in found.items():
                    self._of.cache.put(self._of.key(each), column, column.nbytes)

    def _recall(self, asked: Sequence[Asked]) -> None:
        for each in asked if self._rows is None else ():
            if each not in self._loaded and (known := self._of.cache.get(self._of.key(each))) is not None:
                self._loaded[each] = known

    def holds(self, asked: Sequence[Asked]) -> bool:
        """Whether all requested statistics are in memory."""
        self._recall(asked)
        return all(each in self._loaded for each in asked)

    def at(self, rows: np.ndarray) -> "_CheckpointEvidence":
        """Return the evidence of some of the rows, to be read for these rows only."""
        return _CheckpointEvidence(self._of, rows)

    def statistic(self, asked: Asked) -> pa.Array:
        """As `FileEvidence`."""
        self.load([asked])
        return self._loaded[asked]

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """As `FileEvidence`."""
        key = self._of.key(("partition values", name))
        found = self._of.cache.find(key, partial(self._of.read_partition_values, name))
        return found if self._rows is None else found.take(self._rows)
