"""Conversion of Iceberg tables: the rows that pyiceberg reads, what goes on from there, and refusals."""

import datetime as dt
import decimal
import errno
import json
import os
import shutil
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from deltaarrow import DeltaTable, Field, convert_to_deltalake, write_deltalake
from deltaarrow.errors import (
    CorruptDataFileError,
    CorruptLogError,
    MissingDependencyError,
    MissingFilesError,
    SchemaMismatchError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.storage.local import LocalStore
from tests.support.commits import commit
from tests.support.iceberg_catalog import iceberg_folder, new_iceberg_table, rewrite_manifest, sorted_rows

SMALL = Schema(NestedField(1, "id", LongType()), NestedField(2, "s", StringType()))


def small(folder, schema=SMALL, spec=None, rows=((1, "a"), (2, None)), **properties):
    """A table with one file."""
    table = new_iceberg_table(folder, schema, *([] if spec is None else [spec]), **properties)
    if rows:
        table.append(pa.table({"id": [row[0] for row in rows], "s": [row[1] for row in rows]}))
    return table


def spec_of(*parts):
    return PartitionSpec(
        *(
            PartitionField(source, 1000 + number, transform, name)
            for number, (source, transform, name) in enumerate(parts)
        )
    )


def states(folder):
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file() and "_delta_log" not in path.parts
    }


EVERY = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "i", IntegerType()),
    NestedField(3, "f", FloatType()),
    NestedField(4, "d", DoubleType()),
    NestedField(5, "b", BooleanType()),
    NestedField(6, "s", StringType()),
    NestedField(7, "raw", BinaryType()),
    NestedField(8, "day", DateType()),
    NestedField(9, "tz", TimestamptzType()),
    NestedField(10, "ntz", TimestampType()),
    NestedField(11, "dec", DecimalType(20, 3)),
    NestedField(
        12,
        "st",
        StructType(NestedField(20, "x", LongType()), NestedField(21, "y", StringType(), required=True)),
    ),
    NestedField(
        13, "l", ListType(22, StructType(NestedField(23, "k", IntegerType())), element_required=False)
    ),
    NestedField(
        14,
        "m",
        MapType(24, StringType(), 25, ListType(26, LongType(), element_required=False), False),
    ),
)


def every(first):
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("i", pa.int32()),
            ("f", pa.float32()),
            ("d", pa.float64()),
            ("b", pa.bool_()),
            ("s", pa.string()),
            ("raw", pa.binary()),
            ("day", pa.date32()),
            ("tz", pa.timestamp("us", "UTC")),
            ("ntz", pa.timestamp("us")),
            ("dec", pa.decimal128(20, 3)),
            ("st", pa.struct([("x", pa.int64()), pa.field("y", pa.string(), nullable=False)])),
            ("l", pa.list_(pa.struct([("k", pa.int32())]))),
            ("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ]
    )
    full = {
        "id": first,
        "i": 1,
        "f": 1.5,
        "d": float("nan"),
        "b": True,
        "s": "é" * 40,
        "raw": b"\xff",
        "day": dt.date(2020, 2, 29),
        "tz": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "ntz": dt.datetime(2020, 1, 1, 1),
        "dec": decimal.Decimal("-1.125"),
        "st": {"x": 1, "y": "z"},
        "l": [{"k": 3}, None],
        "m": [("a", [1, None])],
    }
    return pa.Table.from_pylist([full, {"id": first + 1}], schema=schema)


def test_each_type_reads_as_in_iceberg_and_the_source_stays(tmp_path):
    source = new_iceberg_table(tmp_path, EVERY, **{"owner": "me", "delta.appendOnly": "true"})
    source.append(every(1))
    folder = iceberg_folder(source)
    before = states(folder)
    plan = convert_to_deltalake(folder, name="n")
    assert states(folder) == before
    assert (plan.num_files, plan.num_rows, plan.parameters["sourceFormat"]) == (1, 2, "iceberg")
    table = DeltaTable(folder)
    wanted = repr(sorted_rows(source.scan().to_arrow()))
    assert repr(sorted_rows(table.to_pyarrow_table())).replace("zoneinfo.ZoneInfo(key='UTC')", "UTC") == (
        wanted.replace("datetime.timezone.utc", "UTC").replace("zoneinfo.ZoneInfo(key='UTC')", "UTC")
    )
    schema = table.schema()
    assert schema.field("id") == Field(
        "id",
        "long",
        nullable=False,
        metadata={
            "delta.columnMapping.id": 1,
            "delta.columnMapping.physicalName": "id",
            "comment": "the key",
        },
    )
    assert schema.field("m").metadata["delta.columnMapping.nested.ids"] == {
        "m.key": 19,
        "m.value": 20,
        "m.value.element": 21,
    }
    configuration = table.metadata().configuration
    assert configuration["owner"] == "me"
    assert "delta.appendOnly" not in configuration
    assert configuration["delta.columnMapping.mode"] == "id"
    [action] = [each["add"] for each in commit(folder, 0) if "add" in each]
    stats = json.loads(action["stats"])
    assert (stats["minValues"]["st"], stats["nullCount"]["dec"]) == ({"x": 1, "y": "z"}, 1)
    assert "d" not in stats["maxValues"]
    write_deltalake(folder, table.to_pyarrow_table(), mode="append")
    assert DeltaTable(folder).count() == 4
    assert source.scan().to_arrow().num_rows == 2


def test_columns_renamed_added_and_dropped_are_found_by_their_ids(tmp_path):
    source = new_iceberg_table(
        tmp_path,
        Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "a", StringType()),
            NestedField(3, "gone", LongType()),
            NestedField(
                4, "st", StructType(NestedField(5, "x", LongType()), NestedField(6, "y", LongType()))
            ),
        ),
    )
    source.append(pa.table({"id": [1], "a": ["old"], "gone": [7], "st": [{"x": 1, "y": 2}]}))
    with source.update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("a", "b")
        update.delete_column("gone")
        update.rename_column(("st", "x"), "z")
        update.delete_column(("st", "y"))
    with source.update_schema() as update:
        update.add_column("a", StringType())
        update.add_column(("st", "y"), LongType())
    source.append(pa.table({"id": [2], "b": ["new"], "st": [{"z": 3, "y": 4}], "a": ["other"]}))
    with source.update_schema(allow_incompatible_changes=True) as update:
        update.add_column("last", LongType())
    with source.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("last")
    folder = iceberg_folder(source)
    convert_to_deltalake(folder)
    table = DeltaTable(folder)
    wanted = [
        {"id": 1, "b": "old", "st": {"z": 1, "y": None}, "a": None},
        {"id": 2, "b": "new", "st": {"z": 3, "y": 4}, "a": "other"},
    ]
    assert sorted_rows(table.to_pyarrow_table()) == sorted_rows(source.scan().to_arrow()) == wanted
    # The statistics of the old file say nothing of what it has under the names of today.
    assert table.to_pyarrow_table(filters="a is null").num_rows == 1
    assert table.to_pyarrow_table(filters="b = 'old'").column("id").to_pylist() == [1]
    assert table.to_pyarrow_table(filters="a = 'old'").num_rows == 0
    table.alter.add_columns([Field("more", "long")])
    # Data files may have any id that Iceberg ever gave.
    assert table.schema().field("more").metadata["delta.columnMapping.id"] > source.metadata.last_column_id
    write_deltalake(folder, pa.table({"id": [3], "b": ["x"], "more": [9]}), mode="append")
    assert DeltaTable(folder).to_pyarrow_table(filters="more = 9").column("b").to_pylist() == ["x"]


def test_identity_partitions_keep_their_column_under_its_name_of_today(tmp_path):
    source = small(tmp_path, spec=spec_of((2, IdentityTransform(), "s")), rows=((1, "a/b c%"), (2, None)))
    with source.update_schema() as update:
        update.rename_column("s", "t")
    folder = iceberg_folder(source)
    assert convert_to_deltalake(folder).partition_columns == ["t"]
    table = DeltaTable(folder)
    assert sorted_rows(table.to_pyarrow_table()) == [{"id": 1, "t": "a/b c%"}, {"id": 2, "t": None}]
    write_deltalake(folder, pa.table({"id": [3], "t": ["a/b c%"]}), mode="append")
    assert sorted(DeltaTable(folder).to_pyarrow_table(filters="t = 'a/b c%'").column("id").to_pylist()) == [
        1,
        3,
    ]


def test_transforms_become_generated_columns(tmp_path):
    day = dt.date(1969, 1, 31)
    source = new_iceberg_table(
        tmp_path,
        Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "y", DateType()),
            NestedField(3, "m", DateType()),
            NestedField(4, "d", TimestampType()),
            NestedField(5, "a b", StringType()),
        ),
        spec_of(
            (2, YearTransform(), "y_year"),
            (3, MonthTransform(), "m_month"),
            (4, DayTransform(), "d_day"),
            (5, TruncateTransform(2), "part"),
            (1, TruncateTransform(10), "id_trunc"),
        ),
    )
    rows = pa.table(
        {
            "id": [-7],
            "y": [day],
            "m": [day],
            "d": pa.array([dt.datetime(1969, 1, 31, 23)], pa.timestamp("us")),
            "a b": ["été"],
        }
    )
    source.append(rows)
    folder = iceberg_folder(source)
    convert_to_deltalake(folder)
    found = {"y_year": 1969, "m_month": "1969-01", "d_day": day, "part": "ét", "id_trunc": -10}
    # What this writes has the values that Iceberg computed.
    write_deltalake(folder, rows, mode="append")
    table = DeltaTable(folder)
    values = [each["add"]["partitionValues"] for v in (0, 1) for each in commit(folder, v) if "add" in each]
    assert sorted(values[0].values()) == sorted(values[1].values())
    assert table.to_pyarrow_table().to_pylist() == [{**rows.to_pylist()[0], **found}] * 2
    for condition in ("y = '1969-01-31'", "d > '1969-01-31 12:00:00'", "id = -7", "m_month = '1969-01'"):
        assert table.to_pyarrow_table(filters=condition).num_rows == 2


def test_which_metadata_is_the_newest(tmp_path):
    source = small(tmp_path)
    first = source.metadata_location
    source.append(pa.table({"id": [3], "s": ["c"]}))
    folder = iceberg_folder(source)
    metadata = folder / "metadata"
    assert convert_to_deltalake(folder, dry_run=True).num_rows == 3
    assert convert_to_deltalake(folder, dry_run=True, iceberg_metadata=first).num_rows == 2
    by_name = f"metadata/{first.rpartition('/')[2]}"
    assert convert_to_deltalake(folder, dry_run=True, iceberg_metadata=by_name).num_rows == 2
    # A commit that failed left its metadata.
    leftover = metadata / f"00002-{uuid.uuid4()}.metadata.json"
    shutil.copy(first.removeprefix("file://"), leftover)
    with pytest.raises(CorruptLogError, match=r"have the same number.*iceberg_metadata"):
        convert_to_deltalake(folder)
    hint = metadata / "version-hint.text"
    hint.write_text(first.rpartition("/")[2].removesuffix(".metadata.json"))
    assert convert_to_deltalake(folder, dry_run=True).num_rows == 2
    # Without a catalog, the hint may be older than the table.
    hint.write_text("1\n")
    with pytest.raises(CorruptLogError, match="names the version '1'"):
        convert_to_deltalake(folder)
    shutil.copy(first.removeprefix("file://"), metadata / "v1.metadata.json")
    assert convert_to_deltalake(folder, dry_run=True).num_rows == 2
    shutil.copy(source.metadata_location.removeprefix("file://"), metadata / "v2.metadata.json")
    assert convert_to_deltalake(folder, dry_run=True).num_rows == 3
    assert not (folder / "_delta_log").exists()
    for each in metadata.glob("*.metadata.json"):
        each.unlink()
    hint.unlink()
    with pytest.raises(CorruptLogError, match="there is none"):
        convert_to_deltalake(folder, source_format="iceberg")


def test_an_empty_table_is_converted(tmp_path):
    source = small(tmp_path, rows=())
    folder = iceberg_folder(source)
    assert convert_to_deltalake(folder).num_files == 0
    write_deltalake(folder, pa.table({"id": [1], "s": ["a"]}), mode="append")
    assert DeltaTable(folder).count() == 1
    with pytest.raises(VersionExistsError):
        convert_to_deltalake(folder)
    assert convert_to_deltalake(folder, mode="ignore") is None


def test_arguments_that_do_not_fit(tmp_path):
    folder = iceberg_folder(small(tmp_path))
    for options in (
        {"partition_by": {"id": "long"}},
        {"partition_strategy": "directory"},
        {"source_format": "hudi"},
        {"source_format": "parquet", "iceberg_metadata": "metadata/x"},
    ):
        with pytest.raises(ValueError, match=r"iceberg|Iceberg"):
            convert_to_deltalake(folder, **options)
    with pytest.raises(UnsupportedFeatureError, match="id, not 'name'"):
        convert_to_deltalake(folder, configuration={"delta.columnMapping.mode": "name"})
    assert not (folder / "_delta_log").exists()


@pytest.mark.parametrize(
    ("source", "transform"),
    [
        (1, BucketTransform(4)),
        (3, HourTransform()),
        (4, DayTransform()),
        (5, IdentityTransform()),
        (7, IdentityTransform()),
    ],
    ids=["bucket", "hour", "day_of_an_instant", "binary", "nested"],
)
def test_partitions_that_are_refused(tmp_path, source, transform):
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "s", StringType()),
        NestedField(3, "ntz", TimestampType()),
        NestedField(4, "tz", TimestamptzType()),
        NestedField(5, "raw", BinaryType()),
        NestedField(6, "st", StructType(NestedField(7, "x", LongType()))),
    )
    folder = iceberg_folder(new_iceberg_table(tmp_path, schema, spec_of((source, transform, "part"))))
    with pytest.raises(UnsupportedFeatureError, match=r"the partition part, .* rewrite its files"):
        convert_to_deltalake(folder)


@pytest.mark.parametrize("found", [TimeType(), UUIDType(), FixedType(4)], ids=str)
def test_types_that_are_refused(tmp_path, found):
    inner = ListType(3, found, element_required=False)
    source = new_iceberg_table(tmp_path, Schema(NestedField(1, "id", LongType()), NestedField(2, "l", inner)))
    with pytest.raises(UnsupportedFeatureError, match=r"the column l\.element .* has the type"):
        convert_to_deltalake(iceberg_folder(source))


def test_files_from_before_a_change_of_type_or_partitions_are_refused(tmp_path):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "s", IntegerType()))
    source = new_iceberg_table(tmp_path / "a", schema)
    source.append(pa.table({"id": [1], "s": pa.array([1], pa.int32())}))
    with source.update_schema() as update:
        update.update_column("s", LongType())
    with pytest.raises(UnsupportedFeatureError, match="has the column s with the type"):
        convert_to_deltalake(iceberg_folder(source))
    source = small(tmp_path / "b")
    with source.update_spec() as update:
        update.add_identity("s")
    with pytest.raises(UnsupportedFeatureError, match="earlier partition spec"):
        convert_to_deltalake(iceberg_folder(source))


def test_files_without_field_ids_are_refused(tmp_path):
    source = small(tmp_path)
    added = iceberg_folder(source) / "data" / "added.parquet"
    pq.write_table(pa.table({"id": [5], "s": ["e"]}), added)
    source.add_files([f"file://{added}"])
    with pytest.raises(UnsupportedFeatureError, match=r"added\.parquet tells no field id of the column id"):
        convert_to_deltalake(iceberg_folder(source))


def test_a_column_that_is_not_null_and_missing_is_refused(tmp_path):
    source = small(tmp_path)
    with source.update_schema() as update:
        update.add_column("must", LongType())
    text = source.metadata_location.removeprefix("file://")
    with open(text) as file:
        metadata = json.load(file)
    for schema in metadata["schemas"]:
        for field in schema["fields"]:
            field["required"] = field["name"] == "must"
    with open(text, "w") as file:
        json.dump(metadata, file)
    with pytest.raises(SchemaMismatchError, match="lacks the column must, which is NOT NULL"):
        convert_to_deltalake(iceberg_folder(source))


def test_an_empty_partition_value_is_refused(tmp_path):
    source = small(tmp_path, spec=spec_of((2, IdentityTransform(), "s")), rows=((1, "x"),))

    def change(fields):
        fields[3]._data[0] = ""

    rewrite_manifest(source, change)
    with pytest.raises(UnsupportedFeatureError, match="cannot tell from NULL"):
        convert_to_deltalake(iceberg_folder(source))


def test_a_partition_value_out_of_range_is_refused(tmp_path):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
    source = new_iceberg_table(tmp_path, schema, spec_of((2, IdentityTransform(), "day")))
    source.append(pa.table({"id": [1], "day": [dt.date(2020, 1, 1)]}))
    rewrite_manifest(source, lambda fields: fields[3]._data.__setitem__(0, 1 << 30))
    with pytest.raises(CorruptLogError, match="has no date for the partition column 'day'"):
        convert_to_deltalake(iceberg_folder(source))


PATH, SIZE = 1, 5
HOSTILE = {
    "outside": (PATH, lambda old: "file:///etc/passwd", CorruptLogError, "not in its folder"),
    "other_store": (PATH, lambda old: "s3://bucket/a.parquet", CorruptLogError, "not in its folder"),
    "climbing": (PATH, lambda old: old.replace("/data/", "/data/../../t/data/"), CorruptLogError, "folder"),
    "gone": (PATH, lambda old: old + "x", MissingFilesError, "is gone"),
    "other_size": (SIZE, lambda old: old + 1, CorruptLogError, "bytes"),
    "other_count": (4, lambda old: old + 1, CorruptLogError, "rows"),
    "deletes": (0, lambda old: 1, UnsupportedFeatureError, "deleted rows"),
    "equality": (0, lambda old: 2, UnsupportedFeatureError, "deleted rows"),
    "orc": (2, lambda old: "ORC", UnsupportedFeatureError, "format ORC"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_manifests_that_are_refused(tmp_path, name):
    place, change, error, text = HOSTILE[name]
    source = small(tmp_path)

    def tamper(fields):
        kinds = {0: DataFileContent, 2: FileFormat}
        fields[place] = kinds.get(place, lambda value: value)(change(fields[place]))

    rewrite_manifest(source, tamper)
    with pytest.raises(error, match=text):
        convert_to_deltalake(iceberg_folder(source))
    assert not (iceberg_folder(source) / "_delta_log").exists()


@pytest.mark.parametrize("suffix", [".metadata.json", "-m0.avro"])
def test_a_disk_that_fails_is_no_damaged_file(tmp_path, monkeypatch, suffix):
    source, read = small(tmp_path), LocalStore.read

    def fail(store, name):
        if name.endswith(suffix):
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        return read(store, name)

    monkeypatch.setattr(LocalStore, "read", fail)
    with pytest.raises(OSError, match="Input/output error"):
        convert_to_deltalake(iceberg_folder(source))


def test_damaged_metadata_and_files_are_refused_by_name(tmp_path):
    source = small(tmp_path)
    folder = iceberg_folder(source)
    snapshot = source.current_snapshot()
    manifest = snapshot.manifests(source.io)[0].manifest_path
    data = next(iter(folder.glob("data/*.parquet")))
    for path, error in (
        (str(data), CorruptDataFileError),
        (manifest, CorruptLogError),
        (snapshot.manifest_list, CorruptLogError),
        (source.metadata_location, CorruptLogError),
    ):
        path = path.removeprefix("file://")
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(b"\0" * len(content))
        with pytest.raises(error, match=os.path.basename(path)):
            convert_to_deltalake(folder)
        os.unlink(path)
        with pytest.raises((MissingFilesError, CorruptLogError)):
            convert_to_deltalake(folder, iceberg_metadata=source.metadata_location)
        with open(path, "wb") as file:
            file.write(content)
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    with pytest.raises(CorruptLogError, match="read where it was written"):
        convert_to_deltalake(moved)
    assert convert_to_deltalake(folder).num_rows == 2


def test_the_extra_is_named_if_pyiceberg_is_missing(tmp_path, monkeypatch):
    folder = iceberg_folder(small(tmp_path))
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(MissingDependencyError, match=r"run: pip install 'deltaarrow\[iceberg\]'"):
        convert_to_deltalake(folder)
