"""Arrow data written as data files and change data files of a table.

A `WritePlan` and a stream of record batches become `AddFile` or `AddCDCFile` actions, in bounded memory. This
package implements *Data Files*, *Change Data Files* and *Per-file Statistics* of PROTOCOL.md for writers. It
knows no log and no snapshot.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.write.change_files import (
        ChangeFileWriter as ChangeFileWriter,
        with_change_type as with_change_type,
        write_change_files as write_change_files,
        write_inserts as write_inserts,
    )
    from deltaarrow.write.completion import (
        complete_rows as complete_rows,
        ensure_completable as ensure_completable,
    )
    from deltaarrow.write.data import to_reader as to_reader
    from deltaarrow.write.file_writer import write_files as write_files
    from deltaarrow.write.identity_columns import (
        IdentityColumn as IdentityColumn,
        RowNumbering as RowNumbering,
        ensure_identity_columns_declarable as ensure_identity_columns_declarable,
        identity_column as identity_column,
        with_marks as with_marks,
        without_marks as without_marks,
    )
    from deltaarrow.write.plan import (
        DEFAULT_TARGET_FILE_SIZE as DEFAULT_TARGET_FILE_SIZE,
        WritePlan as WritePlan,
    )
    from deltaarrow.write.source_types import (
        checked_reader as checked_reader,
        ensure_duckdb_types as ensure_duckdb_types,
    )
    from deltaarrow.write.variant_encoding import read_variants as read_variants
    from deltaarrow.write.writer_properties import (
        BloomFilterProperties as BloomFilterProperties,
        ColumnProperties as ColumnProperties,
        WriterProperties as WriterProperties,
    )

__getattr__ = lazy_package(__name__)
