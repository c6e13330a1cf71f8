"""`OpenedTable`: a table at a version, and what is known of it before a row is read.

The part of `deltaarrow.table.DeltaTable` that opens, moves in time and describes.
"""

import os
from collections.abc import Mapping
from datetime import date
from typing import Any, Self, SupportsIndex

import pyarrow as pa

import deltaarrow.operations as operations
import deltaarrow.scan as scan
from deltaarrow.conditions import file_predicate
from deltaarrow.describe import (
    Metadata,
    ProtocolVersions,
    add_actions,
    describe_detail,
    describe_metadata,
    describe_protocol,
    list_partitions,
)
from deltaarrow.expressions import Filters
from deltaarrow.log import Catalog, CatalogStore, read_commit_infos
from deltaarrow.redaction import redacted
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, open_store

__all__ = ["OpenedTable"]


class OpenedTable:
    """A table at one version; see `deltaarrow.table.DeltaTable` for the arguments."""

    _opened: Snapshot | None = None
    _is_behind: bool = False

    def __init__(
        self,
        table_uri: str | os.PathLike[str],
        version: SupportsIndex | str | date | None = None,
        storage_options: Mapping[str, str] | None = None,
        without_files: bool = False,
        log_buffer_size: int | None = None,
        skip_stats: bool = False,
        *,
        catalog: Catalog | None = None,
    ) -> None:
        store = open_store(table_uri, storage_options)
        self._store = store if catalog is None else CatalogStore(store, catalog)
        if version is None:
            self._snapshot = Snapshot.load(self._store)
        else:
            self.load_as_version(version)

    @classmethod
    def _of(cls, snapshot: Snapshot) -> Self:
        table = cls.__new__(cls)
        table._store = snapshot.store
        table._snapshot = snapshot
        return table

    @classmethod
    def _made_in(cls, store: Store) -> Self:
        """The table whose first version has just been made in a store."""
        table = cls.__new__(cls)
        table._store = store
        table.follow_commit()
        return table

    @property
    def _snapshot(self) -> Snapshot:
        if self._opened is None:
            self._snapshot = Snapshot.load(self._store)
        elif self._is_behind:
            self._snapshot = self._opened.update()
        assert self._opened is not None
        return self._opened

    @_snapshot.setter
    def _snapshot(self, snapshot: Snapshot) -> None:
        self._opened, self._is_behind = snapshot, False

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the store and the version."""
        return type(self)._of, (self._snapshot,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.table_uri)!r}, version={self.version()})"

    def _repr_html_(self) -> str:
        return self._snapshot._repr_html_()

    # --- opening ----------------------------------------------------------------------------------

    @staticmethod
    def is_deltatable(
        table_uri: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
    ) -> bool:
        """Tell whether there is a Delta log at a location, be it whole or broken."""
        return operations.is_table(open_store(table_uri, storage_options))

    def load_as_version(self, version: SupportsIndex | str | date) -> None:
        """Move to another version, or to the newest one at a point in time.

        A text is an ISO 8601 time; a time without zone is UTC, a date its midnight. A time after the
        newest commit gives the newest version.

        Raises:
            VersionNotFoundError: the log does not reach back so far, or has no such version; it names
                what there is.
            TypeError: it is neither an integer nor a text, a `datetime` or a `date`.
            ValueError: the text is no time.
        """
        self._snapshot = Snapshot.load_as_version(self._store, version)

    def update_incremental(self) -> None:
        """Move to the newest version, reading the commits alone that were made since the open one."""
        self._snapshot = self._snapshot.update()

    def follow_commit(self) -> None:
        """Move to the newest version after a statement on this table that has succeeded.

        Its commit, if it made one, is made, so nothing here may fail it: where the newest version cannot be
        read now, a warning is logged, and the table moves when it is used next.
        """
        self._is_behind = True
        try:
            _ = self._snapshot
        except Exception:
            import logging  # loaded by tables that are written to anyway, and by no other

            logging.getLogger(__name__).warning(
                "a statement on %s has succeeded, and the newest version could not be opened yet",
                self._store.uri,
                exc_info=True,
            )

    # --- describing -------------------------------------------------------------------------------

    @property
    def table_uri(self) -> str:
        """Where the table is."""
        return self._store.uri

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot beneath: the log's own view of the version."""
        return self._snapshot

    def version(self) -> int:
        """Return the version that is open."""
        return self._snapshot.version

    def schema(self) -> Schema:
        """Return the schema; `Schema.to_arrow` gives the Arrow one."""
        return self._snapshot.schema

    def metadata(self) -> Metadata:
        """Return name, description, partitioning and properties."""
        return describe_metadata(self._snapshot)

    def protocol(self) -> ProtocolVersions:
        """Return the versions and features that readers and writers have to know."""
        return describe_protocol(self._snapshot)

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what the commits say of themselves, newest first: `commitInfo` with `version`.

        Args:
            limit: how many commits; all that the log still holds if None.

        Raises:
            ValueError: the limit is negative.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is a number of commits, not {limit}")
        times = self._snapshot.commit_times()
        return read_commit_infos(self._store, self.version(), limit, times.in_commit_since)

    def detail(self) -> dict[str, Any]:
        """Return what Spark's ``DESCRIBE DETAIL`` shows; times are milliseconds since the epoch."""
        return describe_detail(self._snapshot)

    def count(self) -> int:
        """Return the number of rows, from the log where it tells and from Parquet footers otherwise."""
        return scan.count_rows(self._snapshot)

    def partitions(
        self,
        partition_filters: Filters | None = None,
        *,
        file_pruning_predicate: str | Filters | None = None,
    ) -> list[dict[str, str | None]]:
        """Return the distinct partition values, as the log spells them.

        Args:
            partition_filters: ``(column, operator, value)`` tuples that the partitions must match.
            file_pruning_predicate: SQL text or tuples on any columns that a file may match.
        """
        return list_partitions(
            self._snapshot, file_predicate(self._snapshot, partition_filters, file_pruning_predicate)
        )

    def file_uris(
        self,
        partition_filters: Filters | None = None,
        *,
        file_pruning_predicate: str | Filters | None = None,
    ) -> list[str]:
        """Return where the data files are that may hold matching rows.

        Args:
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            file_pruning_predicate: SQL text or tuples on any columns.
        """
        predicate = file_predicate(self._snapshot, partition_filters, file_pruning_predicate)
        paths = self._snapshot.files(predicate, ["path"]).column("path").to_pylist()
        return [self._store.location(path) for path in paths]

    def get_add_actions(self, flatten: bool = False) -> pa.Table:
        """Return the live files with statistics and partition values.

        Args:
            flatten: whether structs become columns such as ``min.id``.
        """
        return add_actions(self._snapshot, flatten=flatten)

    def transaction_version(self, app_id: str) -> int | None:
        """Return the newest version that an application has recorded with its writes."""
        transaction = self._snapshot.transactions.get(app_id)
        return None if transaction is None else transaction.version
