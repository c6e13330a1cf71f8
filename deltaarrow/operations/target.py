"""The table that a write goes to, as it will be once the write is committed."""

from collections.abc import Sequence
from dataclasses import dataclass

from deltaarrow.actions import Action, Metadata, Protocol
from deltaarrow.features import (
    iceberg_compat_version,
    iceberg_file_tags,
    is_supported,
    properties as table_properties,
)
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import Schema, column_mapping_mode, ensure_distinct_columns
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import declared_rules
from deltaarrow.storage import Store
from deltaarrow.write import DEFAULT_TARGET_FILE_SIZE, WritePlan, WriterProperties

__all__ = ["WriteTarget"]


@dataclass(frozen=True)
class WriteTarget:
    """A table that exists, or the one that the write makes; `changes` is what must be committed for it."""

    protocol: Protocol
    metadata: Metadata
    changes: Sequence[Action] = ()

    @classmethod
    def existing(cls, snapshot: Snapshot) -> "WriteTarget":
        """The table of a snapshot as it is."""
        return cls(snapshot.protocol, snapshot.metadata)

    @cached_property
    def schema(self) -> Schema:
        """The logical schema."""
        return Schema.from_json(self.metadata.schema_string)

    def plan(
        self, store: Store, target_file_size: int | None = None, properties: WriterProperties | None = None
    ) -> WritePlan:
        """Return how its data files are written; the table says what the arguments do not.

        Raises `CorruptLogError` where column mapping does not tell the columns apart, and as `declared_rules`
        where a rule for its rows is not understood.
        """
        mapping_mode = column_mapping_mode(
            self.protocol.min_reader_version,
            self.protocol.reader_features,
            self.protocol.writer_features,
            self.metadata.configuration,
        )
        ensure_distinct_columns(self.schema, mapping_mode)
        return WritePlan(
            store=store,
            schema=self.schema,
            partition_columns=tuple(self.metadata.partition_columns),
            mapping_mode=mapping_mode,
            configuration=self.metadata.configuration,
            tight_bounds=is_supported(self.protocol, "deletionVectors"),
            materializes_partitions=self._materializes_partitions(),
            file_tags=iceberg_file_tags(self.metadata.configuration),
            target_file_size=self._file_size() if target_file_size is None else target_file_size,
            properties=WriterProperties() if properties is None else properties,
            rules=declared_rules(
                self.schema,
                self.metadata.configuration,
                has_generated=is_supported(self.protocol, "generatedColumns"),
            ),
        )

    def _materializes_partitions(self) -> bool:
        is_iceberg = iceberg_compat_version(self.metadata.configuration) is not None
        return is_iceberg or is_supported(self.protocol, "materializePartitionColumns")

    def _file_size(self) -> int:
        wanted = table_properties.TARGET_FILE_SIZE.parse(self.metadata.configuration)
        return DEFAULT_TARGET_FILE_SIZE if wanted is None else wanted
