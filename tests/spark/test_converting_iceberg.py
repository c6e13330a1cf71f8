"""Converted Iceberg tables beside Spark: it reads the rows that pyiceberg reads, and goes on."""

import datetime as dt

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform, MonthTransform, TruncateTransform
from pyiceberg.types import DateType, ListType, LongType, NestedField, StringType, StructType

from deltaarrow import DeltaTable, convert_to_deltalake
from tests.support.iceberg_catalog import iceberg_folder, new_iceberg_table, sorted_rows
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_spark_reads_the_rows_and_goes_on(spark, tmp_path):
    parts = [(2, IdentityTransform(), "p"), (3, MonthTransform(), "m"), (4, DayTransform(), "day")]
    parts.append((5, TruncateTransform(2), "part"))
    source = new_iceberg_table(
        tmp_path,
        Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "p", StringType()),
            NestedField(3, "d", DateType()),
            NestedField(4, "e", DateType()),
            NestedField(5, "s", StringType()),
            NestedField(6, "st", StructType(NestedField(7, "x", LongType()))),
            NestedField(8, "l", ListType(9, LongType(), element_required=False)),
        ),
        PartitionSpec(*(PartitionField(i, 1000 + n, t, name) for n, (i, t, name) in enumerate(parts))),
    )
    day = dt.date(2020, 2, 29)
    row = {"id": [1], "p": ["a b/c"], "d": [day], "e": [day], "s": ["été"], "st": [{"x": 1}], "l": [[1]]}
    source.append(pa.table(row))
    with source.update_schema() as update:
        update.rename_column("p", "q")
        update.rename_column(("st", "x"), "z")
        update.add_column("id2", LongType())
    folder = iceberg_folder(source)
    convert_to_deltalake(folder)
    found = spark_table(spark, folder)
    assert sorted_rows(found.select(source.scan().to_arrow().column_names)) == sorted_rows(
        source.scan().to_arrow()
    )
    assert_same_rows(DeltaTable(folder).to_pyarrow_table(), found)
    name = delta_table(folder)
    spark.sql(
        f"INSERT INTO {name} (id, q, d, e, s, st, l, id2)"
        " SELECT id + 1, q, d, e, s, named_struct('z', 5L), l, 9 FROM " + name
    )
    spark.sql(f"ALTER TABLE {name} ADD COLUMN more BIGINT")
    table = DeltaTable(folder)
    [left] = table.to_pyarrow_table(filters="id = 2").to_pylist()
    assert (left["id"], left["m"], left["day"], left["part"], left["st"]) == (
        2,
        "2020-02",
        day,
        "ét",
        {"z": 5},
    )
    assert table.schema().field("more").metadata["delta.columnMapping.id"] > source.metadata.last_column_id
