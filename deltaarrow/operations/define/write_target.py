"""`WriteTarget`: the table of a write as it will be after the commit."""

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
    """An existing or new table after a write; `changes` are the actions that must be committed for it."""

    protocol: Protocol
    metadata: Metadata
    changes: Sequence[Action] = ()

    @classmethod
    def existing(cls, snapshot: Snapshot) -> "WriteTarget":
        """Return the target for the table of a snapshot, without changes."""
        return cls(snapshot.protocol, snapshot.metadata)

    @cached_property
    def schema(self) -> Schema:
        """The logical schema."""
        return Schema.from_json(self.metadata.schema_string)

    def plan(
        self,
        store: Store,
        target_file_size: int | None = None,
        properties: WriterProperties | None = None,
        *,
        fewest_files: bool | None = None,
    ) -> WritePlan:
        """Return the plan for writing data files; properties of the table fill in arguments that are None.

        Raises `CorruptLogError` for ambiguous column mapping, and the exceptions of `declared_rules` for a
        constraint that cannot be parsed.
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
            fewest_files=self._optimizes_writes if fewest_files is None else fewest_files,
            rules=declared_rules(
                self.schema,
                self.metadata.configuration,
                has_generated=is_supported(self.protocol, "generatedColumns"),
            ),
        )

    def _materializes_partitions(self) -> bool:
        is_iceberg = iceberg_compat_version(self.metadata.configuration) is not None
        return is_iceberg or is_supported(self.protocol, "materializePartitionColumns")

    @property
    def _optimizes_writes(self) -> bool:
        return table_properties.AUTO_OPTIMIZE_OPTIMIZE_WRITE.parse(self.metadata.configuration) is True

    def _file_size(self) -> int:
        wanted = table_properties.TARGET_FILE_SIZE.parse(self.metadata.configuration)
        return DEFAULT_TARGET_FILE_SIZE if wanted is None else wanted
