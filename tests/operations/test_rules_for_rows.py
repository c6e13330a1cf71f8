"""Constraints, invariants, generated columns and defaults: a write obeys them or writes nothing."""

import datetime as dt
import json
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.variant import parse_json, variant_array
from deltaarrow.write import complete_rows, write_files
from tests.support.tables import TableBuilder

pytestmark = [
    pytest.mark.feature("invariants"),
    pytest.mark.feature("checkConstraints"),
    pytest.mark.feature("generatedColumns"),
    pytest.mark.feature("allowColumnDefaults"),
]

DEFAULTS = {"delta.feature.allowColumnDefaults": "supported"}
TIME = dt.datetime(2026, 1, 31, 23, 59, tzinfo=dt.UTC)


def generated(name, data_type, text):
    return Field(name, data_type, metadata={"delta.generationExpression": text})


def with_default(name, data_type, text, **given):
    return Field(name, data_type, metadata={"CURRENT_DEFAULT": text}, **given)


def invariant(text):
    return {"delta.invariants": json.dumps({"expression": {"expression": text}})}


SCHEMA = Schema(
    [
        Field("id", "long", nullable=False),
        Field("at", "timestamp"),
        generated("day", "date", "CAST(at AS DATE)"),
        generated("half", "decimal(22,1)", "id * 0.5"),
        with_default("n", "integer", "40 + 2", nullable=False),
        with_default("made", "timestamp", "current_timestamp()"),
        Field("s", StructType([Field("x", "long", metadata=invariant("s.x <> 13"))])),
    ]
)
PROPERTIES = DEFAULTS | {"delta.constraints.positive": "id > 0", "delta.constraints.late": "year(day) > 2000"}


@pytest.fixture(params=["none", "name"])
def table(tmp_path, request):
    mapping = {} if request.param == "none" else {"delta.columnMapping.mode": request.param}
    DeltaTable.create(tmp_path, schema=SCHEMA, partition_by=["day"], configuration=PROPERTIES | mapping)
    return tmp_path


def data(**columns):
    given = {"id": [1], "at": [TIME], "s": [{"x": 1}]}
    return pa.table({name: value for name, value in (given | columns).items() if value is not None})


def read(path, *names):
    rows = DeltaTable(path).to_pyarrow_table(columns=list(names)).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def state(path):
    return sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())


def test_what_is_not_given_is_filled(table):
    write_deltalake(table, data(), mode="append")
    ((number, day, half, n, made),) = read(table, "id", "day", "half", "n", "made")
    assert (number, day, str(half), n) == (1, dt.date(2026, 1, 31), "0.5", 42)
    assert abs(made - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=5)
    (file,) = DeltaTable(table).snapshot.files().to_pylist()
    assert dict(file["partition_values"]).popitem()[1] == "2026-01-31"


def test_the_time_is_one_for_all_rows_and_none_is_asked_for_what_is_given(table):
    batches = [data().to_batches()[0]] * 5
    write_deltalake(table, pa.RecordBatchReader.from_batches(batches[0].schema, batches), mode="append")
    assert len({made for (made,) in read(table, "made")}) == 1


def test_null_is_given_where_it_is_given(tmp_path):
    schema = Schema(
        [Field("id", "long"), with_default("n", "integer", "1"), with_default("t", "string", "'x'")]
    )
    DeltaTable.create(tmp_path, schema=schema, configuration=DEFAULTS)
    write_deltalake(tmp_path, pa.table({"id": [1], "N": pa.nulls(1)}), mode="append")
    assert read(tmp_path, "id", "n", "t") == [(1, None, "x")]
    with pytest.raises(ConstraintViolationError, match="'n'"):
        DeltaTable.create(tmp_path / "not", schema=SCHEMA, configuration=PROPERTIES)
        write_deltalake(tmp_path / "not", data(n=pa.nulls(1)), mode="append")


BROKEN = {
    "CHECK constraint positive": data(id=[0]),
    r"CHECK constraint late \(year\(day\) > 2000\)": data(at=[dt.datetime(1999, 1, 1, tzinfo=dt.UTC)]),
    r"CHECK constraint late .*\n - day : null": data(at=pa.nulls(1, pa.timestamp("us", "UTC"))),
    r"EXPRESSION\(s.x <> 13\)": data(s=[{"x": 13}]),
    r"EXPRESSION.*\n - s.x : null": data(s=None),
    r"Generated Column \(day <=> CAST": data(day=[dt.date(2026, 2, 1)]),
    r"Generated Column \(half <=> id": data(half=pa.nulls(1)),
    "NOT NULL column 'id'": data(id=pa.nulls(1, pa.int64())),
    "NOT NULL column 'id' is missing": data(id=None),
    "NOT NULL column 'n'": data(n=pa.nulls(1, pa.int32())),
}


WRITES = [
    {"mode": "append"},
    {"mode": "append", "schema_mode": "merge"},
    {"mode": "overwrite"},
    {"mode": "overwrite", "predicate": "id IS NULL OR id IS NOT NULL"},
    {"mode": "overwrite", "partition_overwrite_mode": "dynamic"},
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # Every rule with an append, and every other write with two rules; the slow tests have all pairs.
        pytest.param(
            options,
            message,
            id=f"{'-'.join(options.values())}-{message}",
            marks=[pytest.mark.slow] * (write > 0 and (write + rule) % 5 > 0),
        )
        for write, options in enumerate(WRITES)
        for rule, message in enumerate(BROKEN)
    ],
)
def test_a_broken_rule_is_named_and_nothing_is_left(table, message, options):
    write_deltalake(table, data(), mode="append")
    before = state(table)
    with pytest.raises(ConstraintViolationError, match=f"(?s){message}"):
        write_deltalake(table, BROKEN[message], **options)
    assert state(table) == before
    with pytest.raises(ConstraintViolationError), DeltaTable(table).transaction() as transaction:
        write_deltalake(transaction, data(), mode="append")
        write_deltalake(transaction, BROKEN[message], mode="append")
    assert state(table) == before


def test_a_late_row_of_a_long_stream_is_found(table):
    numbers = [*range(1, 600_000), -1]
    rows = data(id=numbers, at=pa.repeat(pa.scalar(TIME), len(numbers)), s=[{"x": 1}] * len(numbers))
    before = state(table)
    with pytest.raises(ConstraintViolationError, match=r"positive.*\n - id : -1"):
        write_deltalake(table, rows, mode="append")
    assert state(table) == before


def test_overwriting_a_condition_on_a_generated_column(table):
    later = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
    write_deltalake(table, data(id=[1, 2], at=[TIME, later], s=[{"x": 1}] * 2), mode="append")
    write_deltalake(table, data(id=[3]), mode="overwrite", predicate="day = DATE '2026-01-31' AND id < 5")
    assert [number for (number,) in read(table, "id")] == [2, 3]
    with pytest.raises(ConstraintViolationError, match="do not fulfil the condition"):
        write_deltalake(table, data(at=[later]), mode="overwrite", predicate="day = DATE '2026-01-31'")
    write_deltalake(table, data(id=[4]), mode="overwrite", partition_overwrite_mode="dynamic")
    assert [number for (number,) in read(table, "id")] == [2, 4]


def test_rows_that_are_only_written_anew_are_not_asked(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [-1, 5, 6]}))
    metadata = DeltaTable(tmp_path).snapshot.metadata
    with DeltaTable(tmp_path).transaction() as transaction:
        transaction.set_metadata(replace(metadata, configuration={"delta.constraints.positive": "id > 0"}))
    write_deltalake(tmp_path, pa.table({"id": [7]}), mode="overwrite", predicate="id > 5")
    assert read(tmp_path, "id") == [(-1,), (5,), (7,)]


def test_a_plan_travels_with_its_rules(table):
    target = WriteTarget.existing(DeltaTable(table).snapshot)
    plan = pickle.loads(pickle.dumps(target.plan(DeltaTable(table).snapshot.store)))
    (batch,) = complete_rows(plan, data().to_batches(), clock=lambda: 1500)
    assert batch.schema.names == SCHEMA.names
    assert batch.column("made").to_pylist() == [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)]
    with pytest.raises(ConstraintViolationError, match="positive"):
        write_files(plan, data(id=[0]).to_batches())
    (file,) = write_files(plan, data().to_batches())
    assert '"numRecords":1' in file.stats


def test_a_schema_that_is_merged_or_overwritten(table):
    write_deltalake(table, data(new=["x"]), mode="append", schema_mode="merge")
    assert read(table, "new", "n") == [("x", 42)]
    with pytest.raises(SchemaMismatchError, match="positive relies on it"):
        write_deltalake(table, data(id=["1"]), mode="overwrite", schema_mode="overwrite", partition_by=[])
    with pytest.raises(ConstraintViolationError, match="positive"):
        write_deltalake(
            table,
            data(id=[0], day=[dt.date(2001, 1, 1)]),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=[],
        )


def test_expressions_of_another_table_are_data_in_this_one(table, tmp_path):
    write_deltalake(table, data(), mode="append")
    copy = tmp_path / "copy"
    write_deltalake(copy, DeltaTable(table).to_pyarrow_table(columns=["day", "n"]))
    fields = DeltaTable(copy).schema().fields
    assert [field.metadata for field in fields] == [{}, {}]


def test_a_generation_expression_that_the_protocol_does_not_speak_of_is_a_leftover(tmp_path):
    schema = Schema([Field("a", "long"), generated("b", "long", "a + 1")])
    TableBuilder(tmp_path).protocol(1, 2).metadata(schema.to_json()).commit()
    write_deltalake(tmp_path, pa.table({"a": [1], "b": [7]}), mode="append")
    assert read(tmp_path, "a", "b") == [(1, 7)]


@pytest.mark.parametrize(
    ("configuration", "metadata", "named"),
    [
        ({"delta.constraints.x": "read_text('/etc/passwd') = ''"}, {}, "READ_TEXT"),
        ({"delta.constraints.x": "java_method('java.lang.Runtime', 'exit')"}, {}, "JAVA_METHOD"),
        ({"delta.constraints.x": "id"}, {}, "of type long"),
        ({}, {"delta.generationExpression": "my_udf(id)"}, "MY_UDF"),
        ({}, {"delta.generationExpression": "unix_timestamp()"}, "unix_timestamp"),
        ({}, {"delta.invariants": "{}"}, "invariant"),
        ({}, invariant("id > rand()"), "RAND"),
        ({}, {"CURRENT_DEFAULT": "uuid()"}, "UUID"),
    ],
    ids=str,
)
def test_expressions_off_the_list_are_refused_before_a_file_is_written(
    tmp_path, configuration, metadata, named
):
    schema = Schema([Field("id", "long"), Field("other", "long", metadata=metadata)]).to_json()
    features = ["invariants", "checkConstraints", "generatedColumns", "allowColumnDefaults"]
    TableBuilder(tmp_path).protocol(1, 7, None, features).metadata(
        schema, configuration=configuration
    ).commit()
    before = state(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=named):
        write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    assert state(tmp_path) == before


@pytest.mark.parametrize("json", ['{"a": 1.5e0}', '{"a": [1]}', '{"a": {"b": 2}}'])
def test_a_string_of_a_variant_that_may_not_be_sparks_is_refused_in_its_row(tmp_path, json):
    condition = {"delta.constraints.named": "variant_get(v, '$.a', 'string') <> 'bad'"}
    DeltaTable.create(tmp_path, schema=Schema([Field("v", "variant")]), configuration=condition)
    write_deltalake(tmp_path, pa.table({"v": variant_array([{"a": "good"}])}), mode="append")
    before = state(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=r"to string, which is for queries alone"):
        write_deltalake(tmp_path, pa.table({"v": parse_json(pa.array([json]))}), mode="append")
    assert state(tmp_path) == before


def test_a_default_off_the_list_is_in_no_ones_way_who_gives_the_column(tmp_path):
    schema = Schema([Field("id", "long"), with_default("m", "long", "map('a', 1)['a']")])
    features = ["allowColumnDefaults"]
    TableBuilder(tmp_path).protocol(1, 7, None, features).metadata(schema.to_json()).commit()
    write_deltalake(tmp_path, pa.table({"id": [1], "m": [2]}), mode="append")
    assert read(tmp_path, "id", "m") == [(1, 2)]


def made(text="id * 2"):
    column = pa.field("twice", pa.int64(), metadata={"delta.generationExpression": text})
    return pa.table([[1, 2], [2, 4]], schema=pa.schema([pa.field("id", pa.int64()), column]))


def test_columns_of_arrow_data_that_say_so_are_generated_in_a_new_table(tmp_path):
    write_deltalake(tmp_path, made())
    write_deltalake(tmp_path, made().select(["id"]), mode="append")
    assert read(tmp_path, "id", "twice") == [(1, 2), (1, 2), (2, 4), (2, 4)]
    assert "generatedColumns" in DeltaTable(tmp_path).protocol().writer_features
    with pytest.raises(ConstraintViolationError, match="twice"):
        write_deltalake(tmp_path / "other", made("id * 3"))
    assert not (tmp_path / "other").exists()


def test_a_selection_of_columns_leaves_a_generation_expression_behind(tmp_path):
    write_deltalake(tmp_path / "whole", made())
    rows = DeltaTable(tmp_path / "whole").to_pyarrow_table(columns=["twice"])
    write_deltalake(tmp_path / "part", rows)
    assert DeltaTable(tmp_path / "part").schema().field("twice").metadata == {}


def test_a_column_that_a_table_gains_cannot_be_generated(tmp_path):
    write_deltalake(tmp_path, made().select(["id"]))
    with pytest.raises(SchemaMismatchError, match="only a new table can have generated columns"):
        write_deltalake(tmp_path, made(), mode="append", schema_mode="merge")
    assert DeltaTable(tmp_path).version() == 0
