"""The differences between two versions of a table: columns, settings, protocol, files and rows.

Only files that one of the two versions has are read. Of a file that both have with different deletion
vectors, only the rows are read that one of the vectors marks.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.compute import files_cursor, quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import supported_features
from deltaarrow.log.file_differences import FileDifferences, find_differences
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import BatchReader, FileTask, file_tasks, table_layout
from deltaarrow.schema import CHANGE_TYPE, Field
from deltaarrow.schema.metadata_keys import COMMENT_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import spark_type_name

__all__ = ["Change", "VersionDifference"]

_PARTS = ("column", "table", "property", "protocol")
_OLDER, _NEWER, _CHANGE = "deltaarrow_older", "deltaarrow_newer", "deltaarrow_change"


@dataclass(frozen=True)
class Change:
    """One thing of a table that differs; `before` or `after` is None where a version lacks it.

    Attributes:
        part: ``column``, ``table``, ``property`` or ``protocol``.
        name: what differs, such as the name of the column.
        before: its value in the older version, as a string.
        after: its value in the newer version, as a string.
    """

    part: str
    name: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """Whether it was ``added``, ``removed`` or ``changed``."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True)
class VersionDifference:
    """What makes the newer of two versions of one table of the older one.

    Args:
        older: the version before.
        newer: the version after, or the same.

    >>> import tempfile
    >>> from deltaarrow import DeltaTable, write_deltalake
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
    >>> _ = DeltaTable(folder).update({"id": "20"}, predicate="id = 2")
    >>> older, newer = (DeltaTable(folder, version=version).snapshot for version in (0, 1))
    >>> VersionDifference(older, newer).count_rows()
    {'insert': 1, 'delete': 1}
    """

    older: Snapshot
    newer: Snapshot

    @cached_property
    def changes(self) -> list[Change]:
        """The columns, settings and parts of the protocol that differ, in this order."""
        before, after = (_told(each) for each in (self.older, self.newer))
        names = dict.fromkeys([*before, *after])
        found = [Change(*name, before.get(name), after.get(name)) for name in names]
        order = ("column", "table", "property", "protocol")
        return sorted(
            (each for each in found if each.before != each.after), key=lambda c: order.index(c.part)
        )

    @cached_property
    def files(self) -> FileDifferences:
        """The files that only one of the versions has, a data file with another deletion vector included."""
        return find_differences(self.older.state, self.newer.state)

    def count_rows(self) -> dict[str, int]:
        """Return how many rows came and went: a row that was updated is counted as both.

        Rows are equal if all columns of the newer version are. A column that the older version lacks was NULL
        there; a column whose type changed is compared as a string. A row that moved to another file, or was
        changed and changed back, is not counted.

        Raises the exceptions of reading files.
        """
        before, after = self._tasks
        if not (before and after):
            readers = self._readers
            return {"insert": readers[1].count(after), "delete": readers[0].count(before)}
        with self._query("sum(greatest(n, 0))::BIGINT, sum(greatest(-n, 0))::BIGINT") as found:
            ((added, removed),) = found.fetchall()
        return {"insert": added or 0, "delete": removed or 0}

    @contextlib.contextmanager
    def open_rows(self) -> Iterator[pa.RecordBatchReader]:
        """Give the rows that came and went, with ``insert`` or ``delete`` in the column ``_change_type``.

        The rows have the columns of the newer version. The order is unspecified.

        Raises `SchemaMismatchError` if the table has a column ``_change_type``, and the exceptions of reading
        files.
        """
        names = self.newer.schema.names
        if any(name.casefold() == CHANGE_TYPE for name in names):
            raise SchemaMismatchError(
                f"the table has a column {CHANGE_TYPE!r}, a name that is needed; rename the column"
            )
        shown = [f"CASE WHEN n > 0 THEN 'insert' ELSE 'delete' END AS {CHANGE_TYPE}"]
        shown += [f"c{place} AS {quote_identifier(name)}" for place, name in enumerate(names)]
        with self._query(", ".join(shown), ", range(abs(n))") as found:
            yield found.to_arrow_reader()

    @cached_property
    def _tasks(self) -> tuple[list[FileTask], list[FileTask]]:
        """The tasks for the rows that only the older version may have, and those of the newer one."""
        before, after = (
            {task.path: task for task in file_tasks(table)}
            for table in (self.files.only_older, self.files.only_newer)
        )
        return _without_shared_rows(before, after), _without_shared_rows(after, before)

    @cached_property
    def _readers(self) -> tuple[BatchReader, BatchReader]:
        known = {field.name for field in self.older.schema.fields}
        names = self.newer.schema.names
        shared = tuple(name for name in names if name in known)
        return (
            BatchReader(table_layout(self.older), shared),
            BatchReader(table_layout(self.newer), tuple(names)),
        )

    @contextlib.contextmanager
    def _query(self, shown: str, further: str = "") -> Iterator[Any]:
        """Select from the different rows: columns ``c0`` and so on, and ``n``, by how many there are more."""
        sides = zip((_OLDER, _NEWER), self._readers, self._tasks, strict=True)
        older = {field.name: field for field in self.older.schema.fields}
        pairs = [(older.get(field.name), field) for field in self.newer.schema.fields]
        with files_cursor(self.newer.store) as cursor:
            for name, reader, tasks in sides:
                cursor.register(name, pa.RecordBatchReader.from_batches(reader.schema, reader.read(tasks)))
            before = ", ".join(_value(one, other, place, of=0) for place, (one, other) in enumerate(pairs))
            after = ", ".join(_value(one, other, place, of=1) for place, (one, other) in enumerate(pairs))
            keys = ", ".join(f"c{place}" for place in range(len(pairs)))
            rows = f"SELECT {before}, -1 AS {_CHANGE} FROM {_OLDER} UNION ALL SELECT {after}, 1 FROM {_NEWER}"
            summed = f"SELECT {keys}, sum({_CHANGE})::BIGINT AS n FROM ({rows}) GROUP BY {keys}"
            yield cursor.sql(f"SELECT {shown} FROM ({summed} HAVING n <> 0){further}")


def _value(before: Field | None, after: Field, place: int, *, of: int) -> str:
    """The value of a column as rows are compared by it, in the older version or in the newer one."""
    name = quote_identifier(after.name)
    if before is None:
        value = name if of else "NULL"
    else:
        value = (
            name
            if spark_type_name(before.type) == spark_type_name(after.type)
            else f"CAST({name} AS VARCHAR)"
        )
    return f"{value} AS c{place}"


def _without_shared_rows(tasks: Mapping[str, FileTask], others: Mapping[str, FileTask]) -> list[FileTask]:
    """The tasks without rows that the other version has in the same data file."""
    found = []
    for path, task in tasks.items():
        other = others.get(path)
        if other is None:
            found.append(task)
        elif other.deletion_vector is not None:
            found.append(replace(task, only_in=other.deletion_vector))
    return found


def _told(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """What is compared of a version, by part and name."""
    return {
        **{("column", field.name): _column(field) for field in snapshot.schema.fields},
        **{("table", name): text for name, text in _settings(snapshot.metadata)},
        **{("property", name): text for name, text in snapshot.configuration.items()},
        **{("protocol", name): text for name, text in _protocol(snapshot.protocol)},
    }


def _column(field: Field) -> str:
    """A column as it is defined, such as ``int NOT NULL COMMENT 'key'``."""
    comment = field.metadata.get(COMMENT_KEY)
    told = [spark_type_name(field.type), *([] if field.nullable else ["NOT NULL"])]
    return " ".join([*told, *([] if comment is None else [f"COMMENT {comment!r}"])])


def _settings(metadata: Metadata) -> Sequence[tuple[str, str]]:
    columns = ", ".join(metadata.partition_columns)
    found = [("name", metadata.name), ("description", metadata.description), ("partition columns", columns)]
    return [(name, text) for name, text in found if text]


def _protocol(protocol: Protocol) -> Sequence[tuple[str, str]]:
    return [
        ("minReaderVersion", str(protocol.min_reader_version)),
        ("minWriterVersion", str(protocol.min_writer_version)),
        *((name, "supported") for name in supported_features(protocol)),
    ]
