"""Which text each file of a large checkpoint has as the value of a partition column, in two bytes a file.

A condition on files works on every file's map of texts: a look-up, a test of the spelling, a cast. Files are
many and texts are few, so the condition is asked of the texts, once, and each file is known by the number of
its text: chapter "Partition Value Serialization" of the protocol. Parquet has the texts numbered already, in
the dictionaries of its row groups; to take the numbers from there costs a third of reading the texts.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

import deltaarrow.statistics as statistics
from deltaarrow.actions.arrow import build_array
from deltaarrow.arrays import integers, numbers_of, raw_numbers, validity
from deltaarrow.compute import quote_literal
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

    from deltaarrow.schema import PrimitiveType
    from deltaarrow.statistics import ValueCondition

__all__ = [
    "FIRST_TEXT",
    "MOST_TEXTS",
    "UNTOLD",
    "LeftByTexts",
    "NumberedTexts",
    "OpenCursor",
    "PartitionTexts",
    "TextCondition",
]

MOST_TEXTS = 10_000
"""More are not held: a condition on them would cost as much as one on the files."""

_FEW_COMPARED = 8
"""So many numbers are compared sooner than looked up."""

_NO_FILE, UNTOLD, FIRST_TEXT = 0, 1, 2
"""Numbers: of a row without an `add`, of one whose `add` does not mention the column, of the first text."""

_MEMBER = "partitionValues"
_ROWS_AT_ONCE = 1 << 16
"""Of a whole row group of 100,000 rows Arrow keeps 12 MB more."""


OpenCursor = Callable[[], AbstractContextManager["duckdb.DuckDBPyConnection"]]


class TextCondition(NamedTuple):
    """A condition on files that looks at one partition column."""

    sql: Callable[[], str | None]
    """Gives the condition on ``partition_values``, false for texts that cannot match; None if all may."""

    values: "ValueCondition | None" = None
    """The same in Python, where it is as simple as that."""

    @property
    def tells(self) -> bool:
        """Whether there are texts that cannot match."""
        return self.values is not None or self.sql() is not None


class LeftByTexts(NamedTuple):
    """The rows of a list of Parquet files that a condition on a partition column leaves."""

    rows: np.ndarray
    """A mask over the rows of all files, one after the other."""

    is_exact: bool
    """Whether each of them is a file that the condition leaves."""


class _UntellableError(Exception):
    """The texts of a column are too many, or a file has two."""


@dataclass
class _Column:
    """The texts of a partition column, numbered as they are met, and the number of each row."""

    name: str
    numbers: dict[str | None, int] = field(default_factory=dict)
    groups: list[np.ndarray] = field(default_factory=list)

    def take(self, adds: pa.StructArray) -> None:
        """Take in the next rows, of which there are the `add` structs with nothing but partition values."""
        values = adds.field(_MEMBER)
        numbers = np.full(len(adds), UNTOLD, np.uint16)
        is_add = validity(adds)
        if is_add is not None:
            numbers[~is_add] = _NO_FILE
        offsets = raw_numbers(values.offsets)
        entries = slice(offsets[0], offsets[-1])
        keys, items = _encoded(values.keys[entries]), _encoded(values.items[entries])
        names = keys.dictionary.to_pylist()
        if self.name in names:
            rows, places, is_text = _rows(offsets), raw_numbers(items.indices), validity(items.indices)
            if is_text is not None:
                places = np.where(is_text, places, -1)
            known = items.dictionary
            used = np.arange(-1 if is_text is not None else 0, len(known))
            if len(names) > 1:
                found = raw_numbers(keys.indices) == names.index(self.name)
                rows, places = rows[found], places[found]
                # The dictionary has the texts of all columns.
                used = np.flatnonzero(np.bincount(places + 1)) - 1
            if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
                raise _UntellableError
            numbers[rows] = self._numbered(known, used)[places]
        self.groups.append(numbers)

    def _numbered(self, known: pa.Array, used: np.ndarray) -> np.ndarray:
        """The numbers of the texts at those places of a dictionary that are used; -1 stands for NULL."""
        if len(used) > MOST_TEXTS:
            raise _UntellableError
        numbers = np.zeros(len(known) + 1, np.uint16)
        numbers[used] = [self._number(None if place < 0 else known[place].as_py()) for place in used.tolist()]
        if len(self.numbers) > MOST_TEXTS:
            raise _UntellableError
        return numbers

    def _number(self, text: str | None) -> int:
        return self.numbers.setdefault(text, FIRST_TEXT + len(self.numbers))

    def held(self) -> "NumberedTexts":
        numbers = np.concatenate(self.groups) if self.groups else np.empty(0, np.uint16)
        return NumberedTexts.of([*self.numbers], numbers)


class NumberedTexts(NamedTuple):
    """The texts of a partition column, and the number that each row has of them."""

    texts: Sequence[str | None]
    """They have the numbers from `FIRST_TEXT` on."""
    numbers: np.ndarray
    has_untold: bool
    """Whether a row has an `add` that does not mention the column."""
    values: dict["PrimitiveType", list[Any] | None]
    """What the texts stand for, by the types by which that was asked: one, but for odd schemas."""

    @classmethod
    def of(cls, texts: Sequence[str | None], numbers: np.ndarray) -> Self:
        """Return texts that have the numbers from `FIRST_TEXT` on, in order, with the numbers of rows."""
        return cls(texts, numbers, bool((numbers == UNTOLD).any()), {})

    def left(self, open_cursor: OpenCursor, column: str, condition: TextCondition) -> LeftByTexts:
        """Return the rows that a condition leaves; see `PartitionTexts.left`."""
        verdicts: Any = None if condition.values is None else self._by_values(condition.values)
        if verdicts is None:
            with open_cursor() as cursor:
                verdicts = self._by_query(cursor, column, condition.sql() or "TRUE")
        is_left = np.zeros(FIRST_TEXT + len(self.texts), bool)
        is_left[FIRST_TEXT:] = verdicts
        is_left[UNTOLD] = self.has_untold
        return LeftByTexts(_having(self.numbers, is_left), not self.has_untold)

    def _by_values(self, condition: "ValueCondition") -> list[bool] | None:
        """Whether the condition leaves each text; None where that is for a query to tell."""
        if condition.type not in self.values:
            self.values[condition.type] = statistics.plain_values(self.texts, condition.type)
        values = self.values[condition.type]
        return None if values is None else condition.left(values)

    def _by_query(self, cursor: "duckdb.DuckDBPyConnection", column: str, condition: str) -> np.ndarray:
        name, count = "partition_texts", len(self.texts)
        numbered = [integers(np.arange(count)), build_array(self.texts, pa.string())]
        cursor.register(name, pa.table(numbered, ["number", "text"]))
        found = cursor.sql(
            f"SELECT number FROM (SELECT number, MAP {{{quote_literal(column)}: text}} AS partition_values"
            f" FROM {name}) WHERE {condition}"
        ).to_arrow_table()
        cursor.unregister(name)
        verdicts = np.zeros(count, bool)
        verdicts[numbers_of(found.column(0))] = True
        return verdicts


class PartitionTexts:
    """The texts of the partition columns of files that do not change; safe to share among threads.

    They are read when they are asked for.

    Args:
        store: where the files are.
        names: Parquet files with file actions.
    """

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        self._store = store
        self._names = names
        self._lock = threading.Lock()
        self._held: dict[str, NumberedTexts | None] = {}
        self._starts: np.ndarray | None = None

    def hold(self, columns: Sequence[str]) -> None:
        """Read the texts of columns, given by physical names, that are not held yet."""
        with self._lock:
            missing = [column for column in columns if column not in self._held]
            if missing:
                self._held |= self._read(missing)

    def left(self, open_cursor: OpenCursor, column: str, condition: TextCondition) -> LeftByTexts | None:
        """Return the rows that a condition leaves; None where that is not to be told from texts.

        Args:
            open_cursor: opens a cursor, where the condition has to be asked by a query.
            column: the physical name of a partition column.
            condition: what looks at this column alone.
        """
        self.hold([column])
        held = self._held[column]
        if held is None:
            return None
        return held.left(open_cursor, column, condition)

    def file_and_row(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which files rows of the list of all are in, and their numbers there."""
        assert self._starts is not None
        files = np.searchsorted(self._starts, rows, "right") - 1
        return files, rows - self._starts[files]

    def all_rows(self, files: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the rows of the list of all, as in a mask, of rows of files; see `file_and_row`."""
        assert self._starts is not None
        found: np.ndarray = self._starts[files] + rows
        return found

    def _read(self, names: Sequence[str]) -> dict[str, NumberedTexts | None]:
        columns = [_Column(name) for name in names]
        counts = [0]
        try:
            for file in self._names:
                counts.append(counts[-1])
                for adds in _add_structs(self._store, file):
                    counts[-1] += len(adds)
                    for column in list(columns):
                        try:
                            column.take(adds)
                        except _UntellableError:
                            columns.remove(column)
                    if not columns:
                        return dict.fromkeys(names)
        except (pa.ArrowException, OSError, ValueError, KeyError):
            # It is for the query over the files to say what that means.
            return dict.fromkeys(names)
        self._starts = np.array(counts[:-1])
        return dict.fromkeys(names) | {column.name: column.held() for column in columns}


def _add_structs(store: Store, name: str) -> Iterator[pa.StructArray]:
    """Yield the `add` column of a Parquet file, a part of it at a time, with partition values alone."""
    import pyarrow.parquet as pq

    path, filesystem = store.arrow_path(name), store.arrow_filesystem()
    metadata = pq.read_metadata(path, filesystem=filesystem)
    leaves = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    texts = [leaf for leaf in leaves if leaf.startswith(f"add.{_MEMBER}.")]
    with pq.ParquetFile(path, filesystem=filesystem, metadata=metadata, read_dictionary=texts) as file:
        for group in range(metadata.num_row_groups):
            # A row group at a time: a batch over several would have two dictionaries.
            for batch in file.iter_batches(_ROWS_AT_ONCE, [group], [f"add.{_MEMBER}"], use_threads=False):
                adds = batch.column("add")
                if not pa.types.is_map(adds.type.field(_MEMBER).type):
                    raise KeyError(_MEMBER)
                yield adds


def _encoded(texts: pa.Array) -> pa.DictionaryArray:
    return texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()


def _rows(offsets: np.ndarray) -> np.ndarray:
    """The row of each entry of maps."""
    counts = np.diff(offsets)
    rows = np.arange(len(counts))
    return rows if (counts == 1).all() else np.repeat(rows, counts)


def _having(numbers: np.ndarray, is_left: np.ndarray) -> np.ndarray:
    """A mask of the rows whose number is left."""
    left = np.flatnonzero(is_left)
    if not 0 < len(left) <= _FEW_COMPARED:
        return is_left.take(numbers)
    found: np.ndarray = numbers == left[0]
    for number in left[1:]:
        found |= numbers == number
    return found
