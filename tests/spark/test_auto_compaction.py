"""Auto compaction beside Spark's: the same commit, and each goes on with the tables of the other."""

import json

import pyarrow as pa
import pytest

from deltaarrow import AutoCompaction, DeltaTable, PostCommitHookProperties, write_deltalake
from tests.support.spark import check_engines, create_table

MIN_NUM_FILES = "spark.databricks.delta.autoCompact.minNumFiles"
LAYOUTS = {"partitioned": "PARTITIONED BY (p)", "clustered": "CLUSTER BY (id)"}
AFTER = PostCommitHookProperties(auto_compact=AutoCompaction(min_num_files=3))


@pytest.fixture
def spark(spark):
    """The session, in which three files are many."""
    spark.conf.set(MIN_NUM_FILES, "3")
    yield spark
    spark.conf.unset(MIN_NUM_FILES)


def actions(path, version):
    text = (path / "_delta_log" / f"{version:020}.json").read_text()
    return [next(iter(json.loads(line).items())) for line in text.splitlines()]


def last_compaction(path):
    versions = sorted(path.glob("_delta_log/*.json"), reverse=True)
    for file in versions:
        found = actions(path, int(file.stem))
        info = dict(found)["commitInfo"]
        if info["operation"] == "OPTIMIZE":
            return int(file.stem), info, found
    raise AssertionError("there was no compaction")


@pytest.mark.parametrize("layout", [pytest.param("partitioned", marks=pytest.mark.slow), "clustered"])
def test_the_commit_is_that_of_spark(spark, tmp_path, layout):
    names = {
        who: create_table(
            spark, tmp_path / who, "id INT, p STRING", LAYOUTS[layout], **{"autoOptimize.autoCompact": "true"}
        )
        for who in ("theirs", "ours")
    }
    for start in (0, 10, 20):
        made = f"SELECT /*+ REPARTITION(1) */ id, 'a' FROM range({start}, {start} + 10)"
        spark.sql(f"INSERT INTO {names['theirs']} {made}")
        rows = pa.table({"id": pa.array(range(start, start + 10), pa.int32()), "p": ["a"] * 10})
        write_deltalake(tmp_path / "ours", rows, mode="append", post_commithook_properties=AFTER)
    (_, theirs, of_theirs), (version, ours, of_ours) = (last_compaction(tmp_path / who) for who in names)
    for key in ("isolationLevel", "isBlindAppend"):
        assert ours[key] == theirs[key], key
    parameters = [dict(each["operationParameters"]) for each in (ours, theirs)]
    texts = [each.pop("predicate") for each in parameters]
    assert parameters[0] == parameters[1]
    assert ("<=>" in texts[0]) == ("<=>" in texts[1]) == (layout == "partitioned")
    assert set(ours["operationMetrics"]) == set(theirs["operationMetrics"])
    members = [
        {(kind, member) for kind, action in found if kind != "commitInfo" for member in action}
        for found in (of_ours, of_theirs)
    ]
    # In Spark the first write of a process is clustered at once, so that a removed file may have tags.
    assert members[0] == members[1] - {("remove", "tags")}
    assert version == 4, "it comes with the third file"
    check_engines(spark, tmp_path / "ours")


@pytest.mark.slow
def test_each_goes_on_after_the_other(spark, tmp_path):
    name = create_table(
        spark, tmp_path, "id INT", enableDeletionVectors="true", **{"autoOptimize.autoCompact": "true"}
    )
    for start in range(0, 60, 20):
        spark.sql(f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id FROM range({start}, {start} + 10)")
        rows = pa.table({"id": pa.array(range(start + 10, start + 20), pa.int32())})
        write_deltalake(tmp_path, rows, mode="append", post_commithook_properties=AFTER)
    DeltaTable(tmp_path).delete("id < 40", post_commithook_properties=AFTER)
    spark.sql(f"DELETE FROM {name} WHERE id = 41")
    rows = check_engines(spark, tmp_path)
    assert sorted(rows.column("id").to_pylist()) == [40, *range(42, 60)]
