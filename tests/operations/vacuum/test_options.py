"""What is refused before anything is looked at, and what an inventory has to be."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, VersionNotFoundError
from deltaarrow.errors import DeltaError, SchemaMismatchError, VacuumError
from tests.support.vacuum import overwrite, put, reasons, stored, vacuum

INVENTORY = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("isDir", pa.bool_()), ("modificationTime", pa.int64())]
)


@pytest.fixture
def table(tmp_path) -> DeltaTable:
    overwrite(tmp_path, 1, configuration={"delta.deletedFileRetentionDuration": "interval 36 hours"})
    overwrite(tmp_path, 2)
    put(tmp_path, "stray")
    return DeltaTable(tmp_path)


@pytest.mark.parametrize("hours", [-1, -0.5, float("nan"), float("inf"), "7"])
def test_hours_that_are_no_number_of_hours(table, hours):
    with pytest.raises(ValueError, match="retention_hours is a number of hours, 0 or more"):
        table.vacuum(hours, enforce_retention_duration=False)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("hours", [0, 35, 35.9])
def test_a_retention_shorter_than_the_property_is_refused(tmp_path, table, hours, dry_run):
    before = stored(tmp_path)
    message = (
        r"deletedFileRetentionDuration of the table \(36 hours\).*DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"
    )
    with pytest.raises(VacuumError, match=message):
        table.vacuum(hours, dry_run, full=True)
    assert stored(tmp_path) == before
    assert DeltaTable(tmp_path).version() == 1
    assert issubclass(VacuumError, DeltaError)


def test_a_retention_as_long_as_the_property_or_longer_is_honoured(table):
    assert table.vacuum(36, full=True) == table.vacuum(24 * 29, full=True) == ["stray"]
    assert table.vacuum(24 * 31, full=True) == table.vacuum(10**12, full=True) == []


@pytest.mark.parametrize(
    "ways", [{"full": True, "lite": True}, {"full": True, "inventory": 1}, {"lite": True, "inventory": 1}]
)
def test_two_ways_to_find_files_are_refused(table, ways):
    with pytest.raises(ValueError, match=f"{' and '.join(ways)} are different ways to find files"):
        table.vacuum(**ways)


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_that_is_none(table, threads):
    with pytest.raises(ValueError, match="parallelism"):
        table.vacuum(parallelism=threads)


def test_versions_that_are_not_there_cannot_be_kept(table):
    with pytest.raises(ValueError, match="keep_versions"):
        table.vacuum(keep_versions=[-1])
    with pytest.raises(VersionNotFoundError, match="7"):
        table.vacuum(keep_versions=[7])


# --- inventories ------------------------------------------------------------------------------------


def inventory(*rows, schema=INVENTORY) -> pa.Table:
    """Rows of a path, and whether it is a folder and when it was modified if that matters."""
    full = [(path, 5, *(rest or (False, 5))) for path, *rest in rows]
    columns = list(zip(*full, strict=True)) or [[]] * 4
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema
    )


def test_an_inventory_tells_the_files(tmp_path, table):
    now = 4_000_000_000_000
    live = table.file_uris()[0]
    put(tmp_path, "x y", "_h/f", "young", "without a time")
    given = inventory(
        (f"file:{tmp_path}/stray",),
        (f"file://{tmp_path}/x y",),
        (f"{tmp_path}/x%2525",),
        (f"{tmp_path}/_h/f",),
        (f"{tmp_path}/_delta_log/00000000000000000000.json",),
        (f"{tmp_path}/young", False, now),
        (f"{tmp_path}/without a time", False, None),
        (f"{tmp_path}/folder", True, 5),
        (live,),
        ("relative",),
        (f"{tmp_path}-2/other",),
        (None,),
    )
    assert vacuum(tmp_path, 0, inventory=given) == ["stray", "without a time", "x y", "x%2525"]
    kept = reasons(tmp_path, 0, inventory=given)
    assert kept["young"] == "younger than retention"
    assert kept["_h/f"] == "hidden"
    assert "live" in kept.values()
    assert vacuum(tmp_path, 0, inventory=given, dry_run=False) == ["stray", "without a time", "x y", "x%2525"]
    assert "_h/f" in stored(tmp_path) and "stray" not in stored(tmp_path)
    assert (tmp_path / "_delta_log" / "_last_vacuum_info").read_text() == "{}\n"


def test_an_inventory_does_not_reach_other_tables_or_behind_links(tmp_path, table):
    overwrite(tmp_path / "sub" / "inner", 1)
    put(tmp_path, "sub/inner/old", "sub/old")
    (tmp_path / "link").symlink_to("/usr")
    given = inventory((f"{tmp_path}/sub/inner/old",), (f"{tmp_path}/sub/old",), (f"{tmp_path}/link/bin",))
    assert vacuum(tmp_path, 0, inventory=given) == ["sub/old"]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string()])
def test_texts_of_an_inventory_may_be_of_any_kind(tmp_path, table, kind):
    schema = INVENTORY.set(0, pa.field("path", kind))
    assert vacuum(tmp_path, inventory=inventory((f"{tmp_path}/stray",), schema=schema)) == ["stray"]


def test_an_inventory_may_be_a_stream_and_empty(tmp_path, table):
    given = inventory((f"{tmp_path}/stray",))
    reader = pa.RecordBatchReader.from_batches(given.schema, given.to_batches())
    assert vacuum(tmp_path, inventory=reader) == ["stray"]
    assert vacuum(tmp_path, inventory=INVENTORY.empty_table()) == []


@pytest.mark.parametrize("index", range(4))
def test_an_inventory_needs_its_columns(table, index):
    for schema in (
        INVENTORY.remove(index),
        INVENTORY.set(index, pa.field(INVENTORY.names[index], pa.int32())),
    ):
        with pytest.raises(
            SchemaMismatchError, match=r"path: string, length: int64.*DELTA_INVALID_INVENTORY"
        ):
            table.vacuum(inventory=schema.empty_table())
