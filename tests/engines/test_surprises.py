"""Tables that surprise a new reader, as real writers left them, through every engine."""

import json
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.tables import TableBuilder
from tests.support.variants import Shape, shredded

IDS = pa.schema([("id", pa.int64())])
NULLABLE = {"nullable": True, "metadata": {}}


def field(name, data_type):
    return {"name": name, "type": data_type, **NULLABLE}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def ids(*values):
    return pa.table({"id": pa.array(values, pa.int64())})


def found(*values):
    return [{"id": value} for value in values]


# --- the protocol ----------------------------------------------------------------------------------


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize(
    "protocol",
    [(2, 5), (3, 7, ["columnMapping"], ["columnMapping"]), (2, 7, None, ["columnMapping"])],
    ids=["reader-version-2", "listed", "for-the-writer-alone"],
)
def test_columns_are_mapped_however_the_protocol_says_so(engine, tmp_path, protocol):
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c-1"}
    table = TableBuilder(tmp_path).protocol(*protocol)
    schema = struct(field("id", "long") | {"metadata": mapping})
    table.metadata(schema, configuration={"delta.columnMapping.mode": "name"})
    table.commit([table.add_file(pa.table({"c-1": [1, 2]}), stats=False)])
    assert engine(tmp_path) == found(1, 2)


@pytest.mark.feature("variantType")
@pytest.mark.feature("variantShredding")
@pytest.mark.feature("typeWidening")
def test_features_go_by_the_names_of_their_previews(engine, tmp_path):
    table = TableBuilder(tmp_path)
    table.features("variantType-preview", "variantShredding-preview", "typeWidening-preview")
    table.metadata(struct(field("id", "long"), field("v", "variant")))
    rows = {"id": pa.array([1], pa.int32()), "v": shredded([5], Shape(pa.int64()))}
    table.commit([table.add_file(pa.table(rows), stats=False)])
    assert engine(tmp_path, ["id"]) == found(1)
    assert len(engine(tmp_path)) == 1


# --- the log ---------------------------------------------------------------------------------------


def test_a_log_compaction_may_be_unreconciled(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    one, two = table.add_file(ids(1)), table.add_file(ids(2))
    table.commit().commit([one]).commit([two, table.remove(one)])
    table.compacted(1, 2, [table.remove(one), two, one])
    table.delete_commits(1)
    assert engine(tmp_path) == found(2)


@pytest.mark.parametrize("added", ["{}", "file:{}", "file://{}"])
@pytest.mark.parametrize("removed", ["{}", "file:{}", "file://{}"])
def test_a_remove_may_spell_the_path_in_another_way(engine, tmp_path, added, removed):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    kept, gone = table.add_file(ids(1), name="a b.parquet"), table.add_file(ids(2), name="c d.parquet")
    for action in (kept, gone):
        place = quote(str(tmp_path / action["add"]["path"]))
        action["add"]["path"] = added.format(place)
    table.commit([kept, gone])
    table.commit([table.remove(gone, path=removed.format(place))])
    assert engine(tmp_path) == found(1)


@pytest.mark.parametrize("stats", ["struct", "none"])
@pytest.mark.parametrize("kind", ["classic", "v2-classic"])
def test_a_log_of_a_checkpoint_alone(engine, tmp_path, kind, stats):
    table = TableBuilder(tmp_path)
    if kind == "classic":
        table.protocol()
    else:
        table.features("v2Checkpoint")
    table.metadata(IDS)
    table.commit([table.add_file(ids(1, 2)), table.add_file(ids(8, 9))])
    table.checkpoint(kind=kind, stats=stats, sidecars=2 if kind == "v2-classic" else 0, hint=False)
    table.delete_commits(0)
    assert engine(tmp_path) == found(1, 2, 8, 9)
    assert engine(tmp_path, where="id > 5") == found(8, 9)


@pytest.mark.parametrize("hint", ["{", '{"version": 7, "size": 1}', ""])
def test_the_hint_to_the_last_checkpoint_may_be_wrong(engine, tmp_path, hint):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    table.commit([table.add_file(ids(1))])
    table.checkpoint(hint=False)
    table.last_checkpoint(0, text=hint)
    assert engine(tmp_path) == found(1)


def test_checksums_of_hadoop_are_not_read(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    table.commit([table.add_file(ids(1), name="f.parquet")])
    table.checkpoint()
    for file in [*table.log.iterdir(), tmp_path / "f.parquet"]:
        file.with_name(f".{file.name}.crc").write_bytes(b"crc\0\0\0\2\0stale")
    assert engine(tmp_path) == found(1)


def test_a_commit_may_spread_over_many_lines(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    table.commit([table.add_file(ids(1)), table.add_file(ids(2))])
    file = table.log / f"{0:020d}.json"
    file.write_text(
        "\n".join(json.dumps(json.loads(line), indent=2) for line in file.read_text().splitlines())
    )
    assert engine(tmp_path) == found(1, 2)


# --- data files ------------------------------------------------------------------------------------


def test_a_path_may_have_a_colon(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(IDS)
    names = ["at=2026-01-02 12:30:00/f.parquet", "x:y.parquet"]
    table.commit([table.add_file(ids(number), name=name) for number, name in enumerate(names)])
    assert engine(tmp_path) == found(0, 1)


VOID = {
    "inside a struct": (
        struct(field("x", "long"), field("n", "void")),
        pa.struct([("x", pa.int64())]),
        [{"x": 1}, None],
        [{"x": 1, "n": None}, None],
    ),
    "a struct of them": (struct(field("n", "void")), None, None, [None, None]),
    "inside a list": (
        {
            "type": "array",
            "elementType": struct(field("x", "long"), field("n", "void")),
            "containsNull": True,
        },
        pa.list_(pa.struct([("x", pa.int64())])),
        [[{"x": 1}, None], []],
        [[{"x": 1, "n": None}, None], []],
    ),
    "inside a map": (
        {
            "type": "map",
            "keyType": "string",
            "valueType": struct(field("x", "long"), field("n", "void")),
            "valueContainsNull": True,
        },
        pa.map_(pa.string(), pa.struct([("x", pa.int64())])),
        [[("k", {"x": 1}), ("j", None)], None],
        [[("k", {"x": 1, "n": None}), ("j", None)], None],
    ),
}


@pytest.mark.parametrize("case", VOID)
def test_void_is_null_wherever_it_stands(engine, tmp_path, case):
    data_type, stored_type, stored, wanted = VOID[case]
    table = TableBuilder(tmp_path).protocol()
    table.metadata(struct(field("id", "long"), field("v", data_type), field("n", "void")))
    columns = {"id": pa.array([1, 2])}
    if stored_type is not None:
        columns["v"] = pa.array(stored, stored_type)
    table.commit([table.add_file(pa.table(columns), stats=False)])
    assert engine(tmp_path) == [{"id": i + 1, "v": wanted[i], "n": None} for i in range(2)]
    assert engine(tmp_path, ["id"], "n IS NULL") == found(1, 2)
    assert engine(tmp_path, ["id"], "n IS NOT NULL") == []


def with_two_level_list(file):
    """Take the middle level out of the footer of a file whose one column ``l`` is a list of integers.

    Values and levels are the same in both forms; only the schema tells them apart.
    """
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    for three, two in (
        (b"\x4c", b"\x3c"),  # four elements of the schema
        (b"\x35\x04\x18\x04list\x15\x02\x00", b""),  # repeated group list
        (b"\x25\x00\x18\x07element", b"\x25\x04\x18\x05array"),  # required int32 element
        (b"\x38\x01l\x04list\x07element", b"\x28\x01l\x05array"),  # the path in the column
    ):
        assert three in footer
        footer = footer.replace(three, two, 1)
    file.write_bytes(data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def test_lists_may_have_two_levels(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("l", pa.list_(pa.int32()))]))
    element = pa.field("element", pa.int32(), nullable=False)
    rows = pa.table({"l": pa.array([[1, 2], None, [], [3]], pa.list_(element))})
    table.add_file(rows, name="f.parquet", parquet={"write_page_index": False})
    with_two_level_list(tmp_path / "f.parquet")
    assert "repeated int32 field_id=-1 array" in str(pq.ParquetFile(tmp_path / "f.parquet").schema)
    size = (tmp_path / "f.parquet").stat().st_size
    table.commit([table.add_file(4, stats=False, name="f.parquet", size=size)])
    wanted = [{"l": [1, 2]}, {"l": None}, {"l": []}, {"l": [3]}]
    assert engine(tmp_path) == sorted(wanted, key=repr)
