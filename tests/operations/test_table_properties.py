"""Every honoured table property changes what is written; the list is complete."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import FeatureDropError, InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features import PROPERTIES, Effect
from deltaarrow.operations import cleanup_metadata, create_checkpoint
from deltaarrow.operations.commit.log_maintenance import maintenance_hook
from deltaarrow.operations.drop_feature import FeatureDrop, Work
from deltaarrow.operations.optimize import RewritingOptions
from deltaarrow.runtime.clock import system_clock
from deltaarrow.storage import open_store
from deltaarrow.transaction import CommittedTransaction
from tests.support.tables import TableBuilder

LONG = "a text of more than thirty-two characters, and its end"
ROWS = pa.table({"id": [1, 2], "s": [LONG, LONG], "p": ["x", "y"]})

Configuration = dict[str, str]


def in_days(days: int) -> Callable[[], int]:
    return lambda: system_clock() + timedelta(days=days) // timedelta(milliseconds=1)


def actions(path: Path, version: int, kind: str) -> list[dict[str, Any]]:
    lines = (path / "_delta_log" / f"{version:020d}.json").read_bytes().splitlines()
    return [action[kind] for action in map(orjson.loads, lines) if kind in action]


def log(path: Path, pattern: str) -> list[str]:
    return sorted(file.name for file in (path / "_delta_log").glob(pattern))


def write_versions(path: Path, configuration: Configuration, last: int) -> None:
    for version in range(last + 1):
        mode = "append" if version else "error"
        write_deltalake(path, ROWS, mode=mode, configuration=configuration if version == 0 else None)


# --- what is seen of a property --------------------------------------------------------------------


def protocol(path: Path, configuration: Configuration) -> tuple[int, int] | str:
    try:
        write_deltalake(path, ROWS, configuration=configuration)
    except UnsupportedFeatureError as error:
        return error.feature
    (found,) = actions(path, 0, "protocol")
    return found["minReaderVersion"], found["minWriterVersion"]


def implied_by_writer_version_5(path: Path, configuration: Configuration) -> tuple[int, int] | str:
    return protocol(path, {"delta.minWriterVersion": "5"} | configuration)


def overwriting(path: Path, configuration: Configuration) -> str:
    write_deltalake(path, ROWS, configuration=configuration)
    try:
        write_deltalake(path, ROWS, mode="overwrite")
    except UnsupportedFeatureError as error:
        return f"refused: {error.feature}"
    return "done"


def checkpoints_of_four_versions(path: Path, configuration: Configuration) -> list[str]:
    write_versions(path, configuration, 4)
    return [name[:20].lstrip("0") for name in log(path, "*.checkpoint*.parquet")]


def kind_of_checkpoint(path: Path, configuration: Configuration) -> str:
    write_versions(path, configuration, 1)
    (name,) = [create_checkpoint(open_store(path), 1)]
    return "v2" if len(Path(name).name.split(".")) == 4 else "classic"


def members_of_add(path: Path, configuration: Configuration) -> list[str]:
    write_versions(path, configuration, 1)
    checkpoint = pq.read_schema(path / create_checkpoint(open_store(path), 1))
    return [
        name for name in ("stats", "stats_parsed") if checkpoint.field("add").type.get_field_index(name) >= 0
    ]


def tombstones_after_two_days(path: Path, configuration: Configuration) -> int:
    write_versions(path, configuration, 0)
    write_deltalake(path, ROWS, mode="overwrite")
    name = create_checkpoint(open_store(path), 1, clock=in_days(2))
    return pq.read_table(path / name)["remove"].drop_null().length()


def applications_after_two_days(path: Path, configuration: Configuration) -> int:
    progress = CommitProperties(app_transactions=[Transaction("app", 1)])
    write_deltalake(path, ROWS, configuration=configuration, commit_properties=progress)
    name = create_checkpoint(open_store(path), 0, clock=in_days(2))
    return pq.read_table(path / name)["txn"].drop_null().length()


def commits_after_ten_days(path: Path, configuration: Configuration) -> int:
    write_versions(path, configuration, 4)
    create_checkpoint(open_store(path), 3)
    cleanup_metadata(open_store(path), clock=in_days(10))
    return len(log(path, "*.json"))


def commits_after_a_checkpoint_is_due(path: Path, configuration: Configuration) -> int:
    write_versions(path, configuration, 4)
    create_checkpoint(open_store(path), 3)
    due = {"delta.checkpointInterval": "4"} | configuration
    hook = maintenance_hook(due, clock=in_days(40))
    hook(CommittedTransaction(open_store(path), 4, None, ()))
    return len(log(path, "*.json"))


def is_forgotten_after_two_hours(path: Path, configuration: Configuration) -> bool:
    write_deltalake(path, ROWS, configuration={"delta.checkpointPolicy": "v2"} | configuration)
    outcomes = []
    for clock in (system_clock, lambda: system_clock() + 2 * 3_600_000):
        drop = FeatureDrop(DeltaTable(path).snapshot, "v2Checkpoint", truncate_history=True)
        try:
            drop.run(Work(RewritingOptions(), clock))
        except FeatureDropError as error:
            outcomes.append(error.error_class)
    assert outcomes[0] == "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"
    return len(outcomes) == 1


def isolation(path: Path, configuration: Configuration) -> str:
    """By hand: users may only set the default."""
    TableBuilder(path).protocol().metadata(ROWS.schema, configuration=configuration).commit()
    write_deltalake(path, ROWS, mode="append")
    return str(actions(path, 1, "commitInfo")[0]["isolationLevel"])


def length_of_folders(path: Path, configuration: Configuration) -> list[int]:
    write_deltalake(path, ROWS, partition_by="p", configuration=configuration)
    folders = [add["path"].split("/")[0] for add in actions(path, 0, "add")]
    return [0 if folder.startswith("p=") else len(folder) for folder in folders]


def length_of_random_folders(path: Path, configuration: Configuration) -> list[int]:
    return length_of_folders(path, {"delta.randomizeFilePrefixes": "true"} | configuration)


def columns_with_statistics(path: Path, configuration: Configuration) -> list[str]:
    write_deltalake(path, ROWS, configuration=configuration)
    (add,) = actions(path, 0, "add")
    return list(orjson.loads(add["stats"])["nullCount"])


def length_of_a_bound(path: Path, configuration: Configuration) -> int:
    write_deltalake(path, ROWS, configuration=configuration)
    (add,) = actions(path, 0, "add")
    return len(orjson.loads(add["stats"])["minValues"]["s"])


def is_in_many_files(path: Path, configuration: Configuration) -> bool:
    data = pa.table({"id": pa.array(range(500_000))})
    write_deltalake(path, data, configuration=configuration)
    write_deltalake(path, data, mode="append", target_file_size=10**9)
    assert len(actions(path, 1, "add")) == 1
    return len(actions(path, 0, "add")) > 1


def codec(path: Path, configuration: Configuration) -> str:
    write_deltalake(path, ROWS, configuration=configuration)
    (file,) = path.glob("*.parquet")
    return str(pq.ParquetFile(file).metadata.row_group(0).column(0).compression)


def encodings_of_levels(path: Path, configuration: Configuration) -> bool:
    """Whether levels are outside of what is compressed, as in the second version of data pages."""
    write_deltalake(path, ROWS, configuration=configuration, target_file_size=1)
    (file,) = path.glob("*.parquet")
    # DATA_PAGE_V2 is page type 3 of the Thrift header, whose first field it is, zigzag-encoded.
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    return file.read_bytes()[column.data_page_offset :][:2] == b"\x15\x06"


def files_after_fifty_writes(path: Path, configuration: Configuration) -> int:
    table = DeltaTable.create(path, pa.schema([("id", pa.int64())]), configuration=configuration)
    for number in range(50):
        write_deltalake(table, pa.table({"id": [number]}), mode="append")
    return len(table.file_uris())


def has_a_file_a_partition(path: Path, configuration: Configuration) -> bool:
    """Rows of more partitions than files may be open, a row group of each at a time."""
    batches = [
        pa.record_batch({"p": list(range(300)), "text": [str(number) * 150_000] * 300}) for number in range(3)
    ]
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    write_deltalake(path, stream, partition_by="p", configuration=configuration)
    return len(DeltaTable(path).file_uris()) == 300


def has_iceberg_metadata(path: Path, configuration: Configuration) -> bool:
    write_deltalake(path, ROWS, configuration={"delta.enableIcebergCompatV2": "true"} | configuration)
    return (path / "metadata" / "v0.metadata.json").exists()


# --- the properties --------------------------------------------------------------------------------

Look = Callable[[Path, Configuration], Any]


def manifests(path: Path, configuration: Configuration) -> list[str]:
    write_versions(path, configuration, 1)
    return sorted(file.name for file in path.rglob("manifest"))


HONOURED: dict[str, tuple[str, Look, Any, Any]] = {
    "delta.minReaderVersion": ("2", implied_by_writer_version_5, (1, 4), (2, 5)),
    "delta.minWriterVersion": ("1", protocol, (1, 2), (1, 1)),
    "delta.ignoreProtocolDefaults": ("true", protocol, (1, 2), (1, 1)),
    "delta.autoOptimize": ("true", files_after_fifty_writes, 50, 1),
    "delta.autoOptimize.autoCompact": ("true", files_after_fifty_writes, 50, 1),
    "delta.autoOptimize.optimizeWrite": ("true", has_a_file_a_partition, False, True),
    "delta.appendOnly": ("true", overwriting, "done", "refused: appendOnly"),
    "delta.compatibility.symlinkFormatManifest.enabled": ("true", manifests, [], ["manifest"]),
    "delta.checkpointInterval": ("2", checkpoints_of_four_versions, [], ["2", "4"]),
    "delta.checkpointPolicy": ("v2", kind_of_checkpoint, "classic", "v2"),
    "delta.checkpoint.writeStatsAsJson": (
        "false",
        members_of_add,
        ["stats", "stats_parsed"],
        ["stats_parsed"],
    ),
    "delta.checkpoint.writeStatsAsStruct": ("false", members_of_add, ["stats", "stats_parsed"], ["stats"]),
    "delta.deletedFileRetentionDuration": ("interval 1 day", tombstones_after_two_days, 1, 0),
    "delta.setTransactionRetentionDuration": ("interval 1 day", applications_after_two_days, 1, 0),
    "delta.logRetentionDuration": ("interval 7 days", commits_after_ten_days, 5, 2),
    "delta.dropFeatureTruncateHistory.retentionDuration": (
        "interval 1 hour",
        is_forgotten_after_two_hours,
        False,
        True,
    ),
    "delta.enableExpiredLogCleanup": ("false", commits_after_a_checkpoint_is_due, 1, 5),
    "delta.isolationLevel": ("WriteSerializable", isolation, "Serializable", "WriteSerializable"),
    "delta.randomizeFilePrefixes": ("true", length_of_folders, [0, 0], [2, 2]),
    "delta.randomPrefixLength": ("5", length_of_random_folders, [2, 2], [5, 5]),
    "delta.dataSkippingNumIndexedCols": ("1", columns_with_statistics, ["id", "s", "p"], ["id"]),
    "delta.dataSkippingStatsColumns": ("p,S", columns_with_statistics, ["id", "s", "p"], ["s", "p"]),
    "delta.dataSkippingStringPrefixLength": ("8", length_of_a_bound, 32, 8),
    "delta.targetFileSize": ("1kb", is_in_many_files, False, True),
    "delta.parquet.compression.codec": ("ZSTD", codec, "SNAPPY", "ZSTD"),
    "delta.universalFormat.enabledFormats": ("iceberg", has_iceberg_metadata, False, True),
    "delta.parquet.format.version": ("2.12.0", encodings_of_levels, False, True),
}
NOT_IN_SPARK = pytest.mark.filterwarnings("ignore:.*delta-spark does not know it:UserWarning")


@NOT_IN_SPARK
@pytest.mark.parametrize("name", HONOURED)
def test_a_property_changes_what_is_written(tmp_path, name):
    text, look, without, with_it = HONOURED[name]
    assert look(tmp_path / "without", {}) == without
    assert look(tmp_path / "with", {name: text}) == with_it


def test_every_property_that_is_honoured_is_tested():
    assert set(HONOURED) == {each.name for each in PROPERTIES.values() if each.effect is Effect.HONOURED}


@pytest.mark.parametrize("name", [each.name for each in PROPERTIES.values() if each.effect is Effect.NONE])
def test_a_property_without_an_effect_is_kept(tmp_path, name):
    text = "true" if PROPERTIES[name.lower()].default in (None, True, False) else "interval 3 days"
    write_deltalake(tmp_path, ROWS, configuration={name: text})
    write_deltalake(tmp_path, ROWS, mode="append")
    assert DeltaTable(tmp_path).metadata().configuration == {name: text}


def test_a_value_that_asks_for_more_than_this_release_does_is_refused(tmp_path):
    properties = {"delta.universalFormat.enabledFormats": "hudi"}
    with pytest.raises(UnsupportedFeatureError, match="hudi"):
        write_deltalake(tmp_path / "new", ROWS, configuration=properties)
    TableBuilder(tmp_path / "old").protocol().metadata(ROWS.schema, configuration=properties).commit()
    with pytest.raises(UnsupportedFeatureError, match="hudi"):
        write_deltalake(tmp_path / "old", ROWS, mode="append")


@pytest.mark.parametrize(
    ("name", "text"), [("delta.targetFileSize", "1mb"), ("delta.parquet.compression.codec", "gzip")]
)
def test_a_property_that_spark_does_not_know_comes_with_a_warning(tmp_path, name, text):
    with pytest.warns(UserWarning, match=f"{name} .*delta-spark does not know it"):
        write_deltalake(tmp_path, ROWS, configuration={name: text})
    assert DeltaTable(tmp_path).metadata().configuration == {name: text}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("delta.targetFileSize", "0"),
        ("delta.targetFileSize", "-1"),
        ("delta.targetFileSize", "much"),
        ("delta.parquet.compression.codec", "rar"),
        ("delta.parquet.format.version", "2.0"),
        ("delta.dataSkippingNumIndexedCols", "all"),
    ],
)
def test_a_table_whose_property_means_nothing_is_not_written_to(tmp_path, name, text):
    table = TableBuilder(tmp_path).protocol().metadata(ROWS.schema, configuration={name: text})
    table.commit()
    with pytest.raises((InvalidTablePropertyError, ValueError), match=f"{name}|target_file_size"):
        write_deltalake(tmp_path, ROWS, mode="append")
    assert not list(tmp_path.rglob("*.parquet"))
