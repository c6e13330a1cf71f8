"""``lineitem`` in a table with all that other engines refuse to lay out anew."""

from pathlib import Path

from benchmarks.data_lineitem import DELETED, VECTORS, write_lineitem_tables

__all__ = ["FEATURES", "write_lineitem_with_features"]

FEATURES = "features"
"""The folder of the table with deletion vectors, column mapping and a variant, beside a plain one."""


def write_lineitem_with_features(folder: Path, rows: int, files: int) -> None:
    """Write a plain table, and one of its rows in a table with many features.

    The latter is written by deltaarrow, which is measured on what it does with it. Its variant has the
    comment of the row in an object.
    """
    import shutil

    import pyarrow as pa
    import pyarrow.compute as pc

    from deltaarrow import DeltaTable, write_deltalake
    from deltaarrow.schema import Field, Schema

    write_lineitem_tables(folder, rows, files, 0)
    shutil.rmtree(folder / DELETED)
    rows_of_plain = DeltaTable(folder / VECTORS).to_pyarrow_table()
    enabled = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
    schema = Schema([*Schema.from_arrow(rows_of_plain.schema).fields, Field("about", "variant")])
    table = DeltaTable.create(folder / FEATURES, schema, configuration=enabled)
    each = rows // files
    for number in range(files):
        part = rows_of_plain.slice(number * each, each)
        texts = pc.binary_join_element_wise('{"comment": "', part.column("l_comment"), '"}', "")
        write_deltalake(table, part.append_column("about", pa.chunked_array(texts.chunks)), mode="append")
    table.delete("l_partkey % 100 < 6")
