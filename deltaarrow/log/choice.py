"""Which rows of a large checkpoint may be the files that are wanted, found by what is held of it in memory.

A checkpoint is read for the columns that a condition looks at, once. What it says of all files then stays, in
few bytes for each: the texts of partition columns (`deltaarrow.log.partition_texts`) and the bounds of data
columns (`deltaarrow.statistics.held`). A query has to read the rows of those files alone that are left. It
judges them by the whole condition, unless that was asked here in all its parts.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, AddFile
from deltaarrow.log.checkpoints import CheckpointFiles, CheckpointHead
from deltaarrow.log.held_files import HeldFiles
from deltaarrow.log.partition_texts import LeftByTexts, PartitionTexts, TextCondition
from deltaarrow.log.row_groups import file_and_row
from deltaarrow.statistics.held import PLACE, Left, StatisticsCondition
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["Choice", "FileCondition", "Part", "Pruning", "choose"]

_SELECTIVE = 1 / 8
"""Where texts leave no more than this share of files, their statistics are not worth reading all of them."""
_MOST_LEFT = 1 / 2
_MOST_LISTED = 256

_TOLD_BY = ("size", "modification_time", "data_change", "stats", "stats_parsed")
"""What tells an `add` from other rows without reading its path, which is long: it has one of these."""


class Pruning(Protocol):
    """A condition on files, as SQL over the names of the columns that it may look at."""

    def __call__(
        self,
        *,
        stats: str | None,
        partition_values: str,
        stats_parsed: str | None = None,
        stats_parsed_type: pa.DataType | None = None,
    ) -> str | None:
        """Return a boolean DuckDB expression that is FALSE for files to leave out; None for no file.

        It is never NULL (wrapping it to make sure would cost DuckDB the order of its parts, and twice the
        time). Statistics are there as JSON text (`stats`), as a struct of a type, or as both.
        """


@dataclass(frozen=True)
class FileCondition:
    """A condition on files, and what of it is answered by what is held in memory.

    Attributes:
        whole: all of it.
        partitions: by the physical names of partition columns, the parts that look at nothing else.
        statistics: the part that looks at nothing but statistics; None where there is none.
        is_all: whether these parts together are the whole.
    """

    whole: Pruning
    partitions: Mapping[str, TextCondition] = field(default_factory=dict)
    statistics: StatisticsCondition | None = None
    is_all: bool = False


class Part(NamedTuple):
    """Files of a checkpoint, and those of their rows that may be wanted, as a condition on their numbers."""

    files: CheckpointFiles
    rows: str | None = None
    rows_count: int | None = None
    """How many rows they are; None where that is not known."""


class Choice(NamedTuple):
    """The rows to read of files of a checkpoint."""

    parts: list[Part]

    is_exact: bool = False
    """Whether they are those of the files that the whole condition leaves."""

    held: HeldFiles | None = None
    """What told the rows: they are to be had of these very files alone."""


def choose(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    head: CheckpointHead,
    files: CheckpointFiles,
    condition: FileCondition,
) -> Choice:
    """Return the rows to read of files of a large checkpoint; they are known on the cursor alone."""
    held = _held(store, head, files)
    if not held.are_known:
        return Choice([Part(files)])
    texts = held.texts
    found, is_exact = _left_by_texts(cursor, texts, condition.partitions)
    share = 1.0 if found is None else np.count_nonzero(found.rows) / max(len(found.rows), 1)
    left = None
    if condition.statistics is not None and share:
        may_read = share > _SELECTIVE
        left = _left_by_statistics(cursor, store, held, files, condition.statistics, may_read=may_read)
        is_exact = is_exact and left is not None and left.is_exact
    is_exact = is_exact and condition.is_all
    if (found is None and left is None) or (not is_exact and left is None and share > _MOST_LEFT):
        return Choice([Part(files)])
    if left is None:
        assert found is not None
        numbers, rows = texts.file_and_row(np.flatnonzero(found.rows))
    else:
        numbers, rows = file_and_row(left.places)
        if found is not None:
            kept = found.rows[texts.all_rows(numbers, rows)]
            numbers, rows = numbers[kept], rows[kept]
    parts = list(_parts(cursor, files, numbers, rows))
    return Choice(parts, is_exact, held)


def _held(store: Store, head: CheckpointHead, files: CheckpointFiles) -> HeldFiles:
    held = head.held.get(files.names)
    if held is not None:
        return held
    new = HeldFiles(store, files.names, files.stats_parsed_type, has_json=files.has_json_statistics)
    return head.held.setdefault(files.names, new)


def _left_by_texts(
    cursor: "duckdb.DuckDBPyConnection", texts: PartitionTexts, conditions: Mapping[str, TextCondition]
) -> tuple[LeftByTexts | None, bool]:
    """The rows that all conditions on partition columns leave, and whether all could be asked."""
    asked = {column: condition for column, condition in conditions.items() if condition.tells}
    if not asked:
        return None, True
    texts.hold([*asked])
    found = [texts.left(lambda: nullcontext(cursor), *each) for each in asked.items()]
    told = [each for each in found if each is not None]
    if not told:
        return None, False
    rows = np.logical_and.reduce([each.rows for each in told]) if len(told) > 1 else told[0].rows
    is_exact = all(each.is_exact for each in told)
    return LeftByTexts(rows, is_exact), is_exact and len(told) == len(found)


def _left_by_statistics(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    held: HeldFiles,
    files: CheckpointFiles,
    condition: StatisticsCondition,
    *,
    may_read: bool,
) -> Left | None:
    """The files that statistics leave; None where most are, or statistics do not tell."""
    if held.structs is not None and may_read:
        left = held.structs.left(cursor, condition)
        if left is not None:
            return None if len(left.places) > left.of * _MOST_LEFT else left
    columns = [PLACE] + ["stats"] * files.has_json_statistics + ["stats_parsed"] * (held.structs is not None)
    source = files.sql(store, AddFile.KEY, columns, FILE_SCHEMA, told_by=_TOLD_BY)
    if source is None or len(columns) == 1:
        return None
    left = held.statistics.left(cursor, lambda: source, condition, may_read=may_read)
    return None if left is None or len(left.places) > left.of * _MOST_LEFT else left


def _parts(
    cursor: "duckdb.DuckDBPyConnection",
    files: CheckpointFiles,
    numbers: np.ndarray,
    rows: np.ndarray,
) -> Iterator[Part]:
    for number in np.flatnonzero(np.bincount(numbers)).tolist():
        found = rows[numbers == number]
        # DuckDB leaves out row groups by the bounds.
        conditions = [f"file_row_number BETWEEN {found[0]} AND {found[-1]}"]
        if len(found) <= min(found[-1] - found[0], _MOST_LISTED):
            conditions.append(f"file_row_number IN ({', '.join(map(str, found.tolist()))})")
        elif len(found) <= found[-1] - found[0]:
            # No join, which might give the files in another order.
            name = f"rows_{os.urandom(8).hex()}"
            cursor.register(name, pa.table([_bits(found)], ["bits"]))
            cursor.execute(f"SET VARIABLE {name} = (SELECT bits::BIT FROM {name})")
            # Whichever condition comes first, no bit after the last one is asked for.
            bit = f"least(file_row_number, {found[-1]})::INTEGER"
            conditions.append(f"get_bit(getvariable('{name}'), {bit}) = 1")
        # Writers may leave an empty struct where others leave none.
        conditions.append("add.path IS NOT NULL")
        file = CheckpointFiles((files.names[number],), files.schema)
        yield Part(file, " AND ".join(conditions), len(found))


def _bits(rows: np.ndarray) -> pa.Array:
    """Return one BLOB that DuckDB casts to BIT, in which the bits of these rows are set."""
    flags = np.zeros(rows[-1] + 1, bool)
    flags[rows] = True
    blob = pa.py_buffer(np.packbits(flags))
    offsets = pa.py_buffer(np.array([0, blob.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, blob])
