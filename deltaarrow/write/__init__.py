"""Arrow data written as data files and change data files of a table.

A `WritePlan` and a stream of record batches become `AddFile` or `AddCDCFile` actions, in bounded memory.
Implements *Data Files*, *Change Data Files* and *Per-file Statistics* of PROTOCOL.md for writers. Knows no
log and no snapshot.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.write.change_files import (
        ChangeFileWriter,
        with_change_type,
        write_change_files,
        write_inserts,
    )
    from deltaarrow.write.completion import complete_rows, ensure_completable
    from deltaarrow.write.data import to_reader
    from deltaarrow.write.files import write_files
    from deltaarrow.write.identity import (
        IdentityColumn,
        RowNumbering,
        ensure_identity_columns_declarable,
        identity_column,
        with_marks,
    )
    from deltaarrow.write.plan import DEFAULT_TARGET_FILE_SIZE, WritePlan
    from deltaarrow.write.properties import BloomFilterProperties, ColumnProperties, WriterProperties
    from deltaarrow.write.variant_encoding import read_variants

__all__ = [
    "DEFAULT_TARGET_FILE_SIZE",
    "BloomFilterProperties",
    "ChangeFileWriter",
    "ColumnProperties",
    "IdentityColumn",
    "RowNumbering",
    "WritePlan",
    "WriterProperties",
    "complete_rows",
    "ensure_completable",
    "ensure_identity_columns_declarable",
    "identity_column",
    "read_variants",
    "to_reader",
    "with_change_type",
    "with_marks",
    "write_change_files",
    "write_files",
    "write_inserts",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "BloomFilterProperties": "deltaarrow.write.properties",
        "ChangeFileWriter": "deltaarrow.write.change_files",
        "ColumnProperties": "deltaarrow.write.properties",
        "DEFAULT_TARGET_FILE_SIZE": "deltaarrow.write.plan",
        "IdentityColumn": "deltaarrow.write.identity",
        "RowNumbering": "deltaarrow.write.identity",
        "WritePlan": "deltaarrow.write.plan",
        "WriterProperties": "deltaarrow.write.properties",
        "complete_rows": "deltaarrow.write.completion",
        "ensure_completable": "deltaarrow.write.completion",
        "ensure_identity_columns_declarable": "deltaarrow.write.identity",
        "identity_column": "deltaarrow.write.identity",
        "read_variants": "deltaarrow.write.variant_encoding",
        "to_reader": "deltaarrow.write.data",
        "with_change_type": "deltaarrow.write.change_files",
        "with_marks": "deltaarrow.write.identity",
        "write_change_files": "deltaarrow.write.change_files",
        "write_files": "deltaarrow.write.files",
        "write_inserts": "deltaarrow.write.change_files",
    },
)
