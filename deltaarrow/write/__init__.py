"""Arrow data written as data files of a table.

A `WritePlan` and a stream of record batches become `AddFile` actions, in bounded memory. Implements
*Data Files* and *Per-file Statistics* of PROTOCOL.md for writers. Knows no log and no snapshot.
"""

from deltaarrow.write.completion import complete_rows, ensure_completable
from deltaarrow.write.data import to_reader
from deltaarrow.write.files import write_files
from deltaarrow.write.plan import DEFAULT_TARGET_FILE_SIZE, WritePlan
from deltaarrow.write.properties import BloomFilterProperties, ColumnProperties, WriterProperties
from deltaarrow.write.variants import read_variants

__all__ = [
    "DEFAULT_TARGET_FILE_SIZE",
    "BloomFilterProperties",
    "ColumnProperties",
    "WritePlan",
    "WriterProperties",
    "complete_rows",
    "ensure_completable",
    "read_variants",
    "to_reader",
    "write_files",
]
