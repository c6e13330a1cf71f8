"""Iceberg tables that pyiceberg writes, in a catalog in a folder."""

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import write_manifest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import Table

__all__ = ["iceberg_folder", "new_iceberg_table", "rewrite_manifest", "sorted_rows"]


def new_iceberg_table(folder, schema, spec=UNPARTITIONED_PARTITION_SPEC, **properties) -> Table:
    """Create a table in a catalog of its own."""
    catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("n")
    return catalog.create_table("n.t", schema, partition_spec=spec, properties=properties)


def iceberg_folder(table) -> Path:
    """The folder of a table."""
    return Path(table.location().removeprefix("file://"))


def sorted_rows(table: pa.Table, key="id"):
    """The rows in order."""
    return sorted(table.to_pylist(), key=lambda row: (row[key] is None, row[key]))


def rewrite_manifest(table, change) -> None:
    """Write the newest manifest again, after `change` was called with the fields of each data file.

    The list of manifests tells no size that a reader needs.
    """
    manifest = table.current_snapshot().manifests(table.io)[0]
    entries = manifest.fetch_manifest_entry(table.io)
    path = manifest.manifest_path
    Path(path.removeprefix("file://")).unlink()
    output = table.io.new_output(path)
    spec = table.metadata.specs()[manifest.partition_spec_id]
    with write_manifest(2, spec, table.schema(), output, manifest.added_snapshot_id, "null") as writer:
        for entry in entries:
            change(entry.data_file._data)
            writer.add_entry(entry)
