"""Which rows of a large checkpoint may be the files that are wanted, found by what is held of it in memory.

A checkpoint is read for the columns that a condition looks at, once. What it says of all files then stays, in
few bytes for each: the distinct texts of partition columns (`deltaarrow.log.partition_texts`) and the bounds
of data columns (`deltaarrow.statistics.held`). A query has to read the rows of those files alone that are
left, and judges them by the whole condition, so it does not matter whether too many are left here.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, AddFile
from deltaarrow.log.checkpoints import CheckpointFiles, CheckpointHead, file_and_row
from deltaarrow.log.partition_texts import PartitionTexts
from deltaarrow.statistics.held import PLACE, HeldStatistics, Left, StatisticsCondition
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["FileCondition", "Part", "Pruning", "choose"]

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
        statistics: the part that looks at nothing but statistics.
    """

    whole: Pruning
    partitions: Mapping[str, Pruning] = field(default_factory=dict)
    statistics: StatisticsCondition | None = None


class Part(NamedTuple):
    """Files of a checkpoint, and those of their rows that may be wanted, as a condition on their numbers."""

    files: CheckpointFiles
    rows: str | None = None


def choose(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    head: CheckpointHead,
    files: CheckpointFiles,
    condition: FileCondition,
) -> tuple[list[Part], list[str]]:
    """Return the rows to read of files of a large checkpoint, and what more is to be asked of them.

    The conditions are over ``partition_values``. They, and the rows, hold on the cursor alone.
    """
    asked = [] if not condition.partitions else _asked_of_texts(cursor, store, head, files, condition)
    share = min((share for _, share in asked), default=1.0)
    conditions = [sql for sql, _ in asked]
    if condition.statistics is None or not share:
        return [Part(files)], conditions
    left = _left_by_statistics(cursor, store, head, files, condition.statistics, may_read=share > _SELECTIVE)
    return [Part(files)] if left is None else list(_parts(cursor, files, left.places)), conditions


def _asked_of_texts(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    head: CheckpointHead,
    files: CheckpointFiles,
    condition: FileCondition,
) -> list[tuple[str, float]]:
    """The conditions that files have one of few texts as a partition value, with the share that has."""
    source = files.sql(store, AddFile.KEY, ["partition_values"], FILE_SCHEMA, told_by=("size",))
    if source is None:
        return []
    texts = head.partition_texts.setdefault(files.names, PartitionTexts())
    found = [
        texts.condition(cursor, source, column, part(stats=None, partition_values="partition_values"))
        for column, part in condition.partitions.items()
    ]
    return [each for each in found if each is not None]


def _left_by_statistics(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    head: CheckpointHead,
    files: CheckpointFiles,
    condition: StatisticsCondition,
    *,
    may_read: bool,
) -> Left | None:
    """The files that statistics leave; None where most are, or statistics do not tell."""
    parsed_type, has_json = files.stats_parsed_type, files.has_json_statistics
    columns = [PLACE] + ["stats"] * has_json + ["stats_parsed"] * (parsed_type is not None)
    source = files.sql(store, AddFile.KEY, columns, FILE_SCHEMA, told_by=_TOLD_BY)
    if source is None or len(columns) == 1:
        return None
    held = head.statistics.setdefault(files.names, HeldStatistics(parsed_type, has_json=has_json))
    left = held.left(cursor, source, condition, may_read=may_read)
    return None if left is None or len(left.places) > left.of * _MOST_LEFT else left


def _parts(cursor: "duckdb.DuckDBPyConnection", files: CheckpointFiles, places: np.ndarray) -> Iterator[Part]:
    numbers, rows = file_and_row(places)
    for number in np.unique(numbers).tolist():
        found = rows[numbers == number]
        if len(found) <= _MOST_LISTED:
            # DuckDB leaves out row groups by the bounds.
            listed = ", ".join(map(str, found.tolist()))
            condition = (
                f"file_row_number BETWEEN {found[0]} AND {found[-1]} AND file_row_number IN ({listed})"
            )
        else:
            # No join, which might give the files in another order.
            name = f"rows_{secrets.token_hex(8)}"
            cursor.register(name, pa.table([_bits(found)], ["bits"]))
            cursor.execute(f"SET VARIABLE {name} = (SELECT bits::BIT FROM {name})")
            # Whichever condition comes first, no bit after the last one is asked for.
            bit = f"least(file_row_number, {found[-1]})::INTEGER"
            condition = f"get_bit(getvariable('{name}'), {bit}) = 1"
            condition = f"file_row_number BETWEEN {found[0]} AND {found[-1]} AND {condition}"
        yield Part(CheckpointFiles((files.names[number],), files.schema), condition)


def _bits(rows: np.ndarray) -> pa.Array:
    """Return one BLOB that DuckDB casts to BIT, in which the bits of these rows are set."""
    flags = np.zeros(rows[-1] + 1, bool)
    flags[rows] = True
    blob = pa.py_buffer(np.packbits(flags))
    offsets = pa.py_buffer(np.array([0, blob.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, blob])
