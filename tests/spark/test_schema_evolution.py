"""The same evolving writes in Spark and here give the same schema, partitioning, properties and protocol."""

import json
import re
from dataclasses import dataclass, field

import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import DeltaError
from deltaarrow.operations.define.write_evolution import evolve
from tests.support.engines import open_snapshot
from tests.support.rows import READERS, assert_same_rows
from tests.support.spark import create_table, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("columnMapping"),
    pytest.mark.feature("typeWidening"),
    pytest.mark.feature("timestampNtz"),
]


@dataclass(frozen=True)
class Write:
    """One write of the rows of a query."""

    query: str
    schema_mode: str = "merge"
    mode: str = "append"
    partition_by: tuple[str, ...] = ()

    def by_spark(self, spark, path):
        writer = spark.sql(self.query).write.format("delta").mode(self.mode)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.option(f"{self.schema_mode}Schema", "true").save(str(path))

    def by_us(self, spark, path):
        data = spark.sql(self.query).toArrow()
        write_deltalake(
            path, data, mode=self.mode, schema_mode=self.schema_mode, partition_by=self._partition_by
        )

    def planned(self, spark, snapshot):
        """The metadata and the protocol that the write would leave."""
        data = spark.sql(self.query).toArrow().schema
        found = evolve(snapshot, data, schema_mode=self.schema_mode, partition_by=self._partition_by)
        return found or (snapshot.metadata, None)

    @property
    def _partition_by(self):
        # To Spark no partition columns mean none; to us, those that the table has.
        return self.partition_by if self.schema_mode == "overwrite" else None


def overwriting(query, *partition_by):
    return Write(query, "overwrite", "overwrite", partition_by)


@dataclass(frozen=True)
class Sequence:
    """Writes to a new table; those to a table with a feature that is not written are only planned."""

    columns: str
    writes: list[Write]
    clauses: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    planned: bool = False


SEQUENCES = {
    "plain": Sequence(
        "Id INT NOT NULL COMMENT 'key', s STRUCT<Aa: INT, b: INT>, xs ARRAY<STRUCT<i: INT>>,"
        " m MAP<STRING, STRUCT<v: INT>>, p STRING",
        [
            Write(
                "SELECT 1 ID, struct(1 AS AA, 2 AS B, 3 AS cC) s, array(struct(1 AS i, 'x' AS j)) xs,"
                " map('k', struct(1 AS v, true AS w)) m, 3 NEW, NULL later, struct(1 AS z) t, 'x' P"
            ),
            Write(
                "SELECT 2 id, struct(DATE'2026-01-01' AS d) Later, 4 new, struct(1.50 AS Y) t,"
                " CAST(NULL AS STRING) p, array(1Y) bytes, map(1.0F, TIMESTAMP'2026-01-01') mm"
            ),
            Write("SELECT 5 id, array(array('x')) more, 'y' p", mode="overwrite"),
            overwriting("SELECT 'one' id, 2 b, 'x' P", "p"),
            overwriting("SELECT 2 q, 1 ID, struct(1 AS x, array(2) AS y) s", "Q"),
            overwriting("SELECT 2 q, 1 ID, struct(1 AS x, array(2) AS y) s"),
        ],
        "PARTITIONED BY (p) COMMENT 'told'",
        {"enableDeletionVectors": "true"},
    ),
    "widened": Sequence(
        "a TINYINT, i INT, f FLOAT, d DATE, x DECIMAL(10,2), s STRUCT<i: INT>, xs ARRAY<INT>,"
        " m MAP<SMALLINT, STRUCT<i: INT>>, p INT",
        [
            Write("SELECT 1S a, 1L i, 1D f, TIMESTAMP_NTZ'2026-01-01' d, CAST(1 AS DECIMAL(14,4)) x, 1L P"),
            Write(
                "SELECT 1 A, struct(1L AS i, 2 AS j) s, array(1L) xs, map(1, struct(1L AS i)) m, 1L p, 1 new"
            ),
            Write("SELECT 1L a, map(1L, struct(1L AS I)) m, 2L new, 2L p"),
        ],
        "PARTITIONED BY (p)",
        {"enableTypeWidening": "true", "feature__timestampNtz": "supported"},
    ),
    "widened in the preview": Sequence(
        "a TINYINT, s STRUCT<xs: ARRAY<INT>>",
        [Write("SELECT 1 a"), Write("SELECT 1L a, struct(array(1L) AS xs) s")],
        properties={"feature__typeWidening-preview": "supported", "enableTypeWidening": "true"},
        planned=True,
    ),
    "mapped": Sequence(
        "a INT, s STRUCT<x: INT>, xs ARRAY<STRUCT<i: INT>>, m MAP<STRUCT<k: INT>, INT>, p INT",
        [
            Write(
                "SELECT 1 a, 2 `b c`, struct(1 AS x, struct(3 AS z) AS y) s,"
                " array(struct(1 AS i, 2 AS j)) xs, 1 p"
            ),
            overwriting(
                "SELECT 2 A, 1L `b c`, struct(1 AS x) s, 9 n, array(struct(1 AS i, 2 AS j)) xs, 1 p", "n"
            ),
            overwriting("SELECT 2 a, struct(1 AS X) s, 9 n, array(struct(1S AS i)) xs"),
        ],
        "PARTITIONED BY (p)",
        {"columnMapping__mode": "name"},
    ),
}


def described(metadata, protocol, known=()):
    """What two tables must have in common; physical names that are new count as one."""

    def renamed(match):
        return match[0] if match[0] in known else "col-new"

    return {
        "schema": json.loads(re.sub(r"col-[0-9a-f-]{36}", renamed, metadata.schema_string)),
        "partition columns": list(metadata.partition_columns),
        "configuration": dict(metadata.configuration),
        "description": metadata.description,
        "versions": (protocol.min_reader_version, protocol.min_writer_version),
        "features": (set(protocol.reader_features or ()), set(protocol.writer_features or ())),
    }


def state(path):
    snapshot = open_snapshot(path)
    return described(snapshot.metadata, snapshot.protocol)


def as_spark_overwrites(described):
    """The same where arrays and maps may hold NULL: Spark forgets that they may not, and here it is kept."""
    schema = re.sub(r'"((?:c|valueC)ontainsNull)": false', r'"\1": true', json.dumps(described["schema"]))
    return described | {"schema": json.loads(schema)}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "plain" else pytest.mark.slow)
        for name, sequence in SEQUENCES.items()
        if not sequence.planned
    ],
)
def test_the_same_writes_make_the_same_table(spark, tmp_path, name):
    sequence = SEQUENCES[name]
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for path in (theirs, ours):
        create_table(spark, path, sequence.columns, sequence.clauses, **sequence.properties)
    seen = dict
    for write in sequence.writes:
        write.by_spark(spark, theirs)
        write.by_us(spark, ours)
        seen = as_spark_overwrites if write.mode == "overwrite" else seen
        assert seen(state(ours)) == seen(state(theirs))
    last = Write(sequence.writes[-1].query)
    last.by_spark(spark, ours)
    last.by_us(spark, theirs)
    assert seen(state(ours)) == seen(state(theirs))
    wanted = spark_table(spark, theirs)
    assert_same_rows(spark_table(spark, ours), wanted)
    for path in (ours, theirs):
        for read in READERS.values():
            assert_same_rows(read(path), wanted)


@pytest.mark.parametrize("name", [name for name, sequence in SEQUENCES.items() if sequence.planned])
def test_the_metadata_is_planned_as_spark_makes_it(spark, tmp_path, name):
    sequence = SEQUENCES[name]
    create_table(spark, tmp_path, sequence.columns, sequence.clauses, **sequence.properties)
    for write in sequence.writes:
        before = open_snapshot(tmp_path)
        metadata, protocol = write.planned(spark, before)
        write.by_spark(spark, tmp_path)
        after = open_snapshot(tmp_path)
        known = re.findall(r"col-[0-9a-f-]{36}", before.metadata.schema_string)
        planned = described(metadata, protocol or before.protocol, known)
        seen = as_spark_overwrites if write.mode == "overwrite" else dict
        assert seen(planned) == seen(described(after.metadata, after.protocol, known))


REFUSED = [
    Write("SELECT 'text' a"),
    Write("SELECT 1 a, struct(1 AS x) b"),
    Write("SELECT 1 new, 2 NEW"),
    Write("SELECT 1 `a b`"),
    Write("SELECT array(NULL) new"),
    Write("SELECT 1 _change_type"),
    Write("SELECT TIMESTAMP_NTZ'2026-01-01' new"),
    overwriting("SELECT 1 c"),
    overwriting("SELECT TIMESTAMP_NTZ'2026-01-01' b"),
]


def test_what_spark_refuses_is_refused(spark, tmp_path):
    properties = {"dataSkippingStatsColumns": "b", "enableChangeDataFeed": "true"}
    create_table(spark, tmp_path, "a INT, b INT", **properties)
    snapshot = open_snapshot(tmp_path)
    for write in REFUSED:
        with pytest.raises(Exception, match=r"\[(DELTA|RESERVED)_\w+"):
            write.by_spark(spark, tmp_path)
        with pytest.raises(DeltaError):
            write.planned(spark, snapshot)
    assert DeltaTable(tmp_path).version() == 0
