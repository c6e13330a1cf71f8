"""Places and contents of files in Polars: names, stores, and files that Polars cannot open."""

import pickle

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from deltaarrow.engines.polars.lazy_frame import scan_delta
from deltaarrow.errors import CorruptDataFileError, CorruptLogError, StorageError
from tests.support.cloud_server import ACCOUNT
from tests.support.stores import BUCKET, cloud, raw_s3, s3_options
from tests.support.tables import TableBuilder

__all__ = ["cloud", "s3_options"]

ID = pa.schema([("id", pa.int64())])
NAMES = [
    "*.parquet",
    "part-[0-9]?.parquet",
    "{a,b}.parquet",
    "a b%20c.parquet",
    "ü\u2028é.parquet",
    "id=7/p=9/x.parquet",
    "_hidden.parquet",
    ".hidden/.x",
    "no extension",
    "x.csv",
    "s3://x".replace("//", "/"),
    "a:b#c?d.parquet",
    "#",
]


def is_native(frame):
    return "Parquet SCAN" in frame.explain()


def encoded(name):
    return name.replace("%", "%25").replace(":", "%3A")


def add_named(builder, rows, name, **options):
    add = builder.add_file(rows, name=name, **options)
    add["add"]["path"] = encoded(name)
    return add


@pytest.mark.parametrize("masked", [False, True])
def test_names_of_files_are_no_patterns(tmp_path, masked):
    """Neighbours that the patterns would match, or whose folders look like values, are other files."""
    builder = TableBuilder(tmp_path / "t[x]*?").features("deletionVectors").metadata(ID)
    deleted = builder.deletion_vector([0]) if masked else None
    adds = [
        add_named(builder, pa.table({"id": [-1, n]}), name, deletion_vector=deleted)
        for n, name in enumerate(NAMES)
    ]
    add_named(builder, pa.table({"id": [1000]}), "part-01.parquet")
    builder.commit(adds)
    frame = scan_delta(builder.path)
    assert is_native(frame)
    assert sorted(frame.collect()["id"]) == sorted(
        [*range(len(NAMES)), *([] if masked else [-1] * len(NAMES))]
    )
    assert frame.filter(pl.col("id") == 3).collect().height == 1


def test_an_absolute_path(tmp_path):
    elsewhere = TableBuilder(tmp_path / "elsewhere")
    name = elsewhere.add_file(pa.table({"id": [1]}))["add"]["path"]
    builder = TableBuilder(tmp_path / "t").protocol().metadata(ID)
    add = builder.add_file(pa.table({"id": [2]}))
    far = {"add": add["add"] | {"path": (tmp_path / "elsewhere" / name).as_uri()}}
    builder.commit([add, far])
    assert sorted(scan_delta(builder.path).collect()["id"]) == [1, 2]


def test_a_path_that_leaves_the_table_is_refused(tmp_path):
    builder = TableBuilder(tmp_path / "t").protocol().metadata(ID)
    add = builder.add_file(1)
    builder.commit([{"add": add["add"] | {"path": "../x.parquet"}}])
    with pytest.raises(StorageError, match="leaves"):
        scan_delta(builder.path).collect()


def test_a_broken_file_is_named(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(ID)
    add = builder.add_file(1, name="broken.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    builder.commit([add])
    with pytest.raises(CorruptDataFileError, match=r"broken\.parquet"):
        scan_delta(tmp_path).collect()


def write_variants(path, values):
    rows = ", ".join(f"({number}, {text}::JSON::VARIANT)" for number, text in enumerate(values))
    unshredded = "(FORMAT parquet, SHREDDING {v: 'VARIANT'})"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(id, v)) TO '{path}' {unshredded}")


@pytest.mark.feature("variantType")
@pytest.mark.parametrize("dropped", [False, True])
def test_a_table_with_variants(tmp_path, dropped):
    """Polars opens no file that has one, even if the table no longer has the column."""
    fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
    if not dropped:
        fields.append({"name": "v", "type": "variant", "nullable": True, "metadata": {}})
    builder = TableBuilder(tmp_path).features("variantType")
    builder.metadata({"type": "struct", "fields": fields})
    add = builder.add_file(3, name="v.parquet")
    write_variants(tmp_path / "v.parquet", ["'1'", "NULL", "'{\"a\": [2]}'"])
    builder.commit([add])
    frame = scan_delta(tmp_path)
    assert not is_native(frame)
    assert "1 file(s); Polars cannot open files with a column of type variant" in frame.explain()
    assert frame.select("id").collect()["id"].to_list() == [0, 1, 2]
    assert frame.filter(pl.col("id") > 0).select(pl.len()).collect().item() == 2
    assert frame.head(2).collect().height == 2
    if not dropped:
        variant = pl.Struct({"metadata": pl.Binary, "value": pl.Binary})
        found = frame.collect(engine="streaming")
        assert found.schema == {"id": pl.Int64, "v": variant}
        assert found["v"].is_null().to_list() == [False, True, False]
        assert int.from_bytes(found["v"].struct.field("value")[0][1:], "little") == 1


SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.int32())])


def build(path):
    builder = TableBuilder(path).features("deletionVectors").metadata(SCHEMA, ["p"])
    rows = pa.table({"id": [1, 2, 3, 4], "name": ["a", None, "c", "d"]})
    adds = [
        builder.add_file(rows, {"p": "1"}, deletion_vector=builder.deletion_vector([3])),
        builder.add_file(rows, {"p": None}, stats=False),
        builder.add_file(rows.rename_columns(["id", "NAME"]), {"p": "3"}, stats=False),
        add_named(builder, rows, "p=4/a b%25é.parquet", partition_values={"p": "4"}),
    ]
    builder.commit(adds)
    return builder


def upload(builder, put):
    for file in builder.path.rglob("*"):
        if file.is_file():
            put(file.relative_to(builder.path).as_posix(), file.read_bytes())


def check(frame):
    expected = [
        (n, name, p)
        for p in (None, 1, 3, 4)
        for n, name in zip((1, 2, 3, 4), ("a", None, "c", "d"), strict=True)
    ]
    expected.remove((4, "d", 1))
    assert frame.sort("p", "id", nulls_last=False).collect().rows() == expected
    found = frame.filter(pl.col("id") > 2, pl.col("p") != 3).select("name").collect()["name"].to_list()
    assert sorted(found) == ["c", "c", "d"]
    assert frame.select(pl.len()).collect().item() == 15


def test_a_table_in_memory(tmp_path):
    import fsspec

    files = fsspec.filesystem("memory")
    upload(build(tmp_path), lambda name, data: files.pipe_file(f"/polars/t/{name}", data))
    frame = scan_delta("memory://polars/t")
    assert not is_native(frame)
    check(frame)


def test_a_table_in_s3(tmp_path, s3_options):
    files = raw_s3(s3_options)
    upload(build(tmp_path), lambda name, data: files.pipe_file(f"{BUCKET}/polars/t/{name}", data))
    frame = scan_delta(f"s3://{BUCKET}/polars/t", storage_options=s3_options)
    assert is_native(frame)
    check(frame)
    check(pickle.loads(pickle.dumps(frame)))


def test_a_table_in_s3_reached_by_options_of_s3fs_alone(tmp_path, s3_options):
    files = raw_s3(s3_options)
    upload(build(tmp_path), lambda name, data: files.pipe_file(f"{BUCKET}/polars/u/{name}", data))
    options = {
        "key": s3_options["AWS_ACCESS_KEY_ID"],
        "secret": s3_options["AWS_SECRET_ACCESS_KEY"],
        "endpoint_url": s3_options["AWS_ENDPOINT_URL"],
        "client_kwargs": {"region_name": s3_options["AWS_REGION"]},
    }
    frame = scan_delta(f"s3://{BUCKET}/polars/u", storage_options=options)
    assert is_native(frame)
    check(frame)


@pytest.mark.parametrize("kind", ["gs", "azure"])
def test_a_table_in_google_and_azure(tmp_path, cloud, kind):
    upload(build(tmp_path), lambda name, data: cloud.put(f"{BUCKET}/polars/{kind}/{name}", data))
    root = f"gs://{BUCKET}" if kind == "gs" else f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
    options = cloud.options_of_google if kind == "gs" else cloud.options_of_azure
    options = {name: value for name, value in options.items() if name != "max_retries"}
    frame = scan_delta(f"{root}/polars/{kind}", storage_options=options)
    assert is_native(frame)
    check(frame)


def test_a_file_twice_with_two_deletion_vectors_is_refused(tmp_path):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(ID)
    add = builder.add_file(pa.table({"id": [1, 2]}), deletion_vector=builder.deletion_vector([0]))
    other = {"add": add["add"] | {"deletionVector": builder.deletion_vector([1])}}
    builder.commit([add, other])
    with pytest.raises(CorruptLogError, match="twice"):
        scan_delta(tmp_path).collect()


def test_statistics_that_name_a_column_wrongly_show_no_nulls(tmp_path, s3_options):
    """In an object store they spare a footer; what they claim is insisted on."""
    files = raw_s3(s3_options)
    builder = TableBuilder(tmp_path).protocol().metadata(ID)
    stats = {"numRecords": 1, "nullCount": {"id": 0}}
    builder.commit([builder.add_file(pa.table({"ID": [1]}), stats=stats)])
    upload(builder, lambda name, data: files.pipe_file(f"{BUCKET}/polars/v/{name}", data))
    assert scan_delta(tmp_path).collect()["id"].to_list() == [1]
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        scan_delta(f"s3://{BUCKET}/polars/v", storage_options=s3_options).collect()


@pytest.mark.feature("columnMapping")
def test_a_file_of_other_rows_than_the_log_says_is_refused(tmp_path):
    """Columns that are mapped by name need no footer to be found; the rows are counted all the same."""
    name = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c-1"}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": name}
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    builder = TableBuilder(tmp_path).features("columnMapping")
    builder.metadata({"type": "struct", "fields": [field]}, configuration=properties)
    builder.commit([builder.add_file(pa.table({"c-1": [1, 2]}))])
    assert scan_delta(tmp_path).collect()["id"].to_list() == [1, 2]
    builder.commit([builder.add_file(pa.table({"c-1": [3]}), stats={"numRecords": 2})])
    with pytest.raises(CorruptDataFileError, match="has 1 rows; the log says 2"):
        scan_delta(tmp_path).collect()
