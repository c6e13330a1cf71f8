"""MERGE by an executor that pickles tasks and runs each twice, beside the same MERGE on one node."""

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.runtime.executors import using
from deltaarrow.scan.row_id_columns import ROW_ID
from tests.support.distributed import COPYING, EVERYTHING, OnceExecutor, TwiceExecutor, Twins, tracked
from tests.support.rows import assert_same_rows

PLAIN = {}
IDS = [*range(0, 500, 7), *range(498, 640, 3)]
SOURCE = pa.table({"id": IDS, "n": [-id for id in IDS], "p": [f"p{id % 3}" for id in IDS]})


def merge(table, source=SOURCE, predicate="t.id = s.id"):
    return table.merge(source, predicate, source_alias="s", target_alias="t")


def upsert(table):
    return merge(table).when_matched_update_all().when_not_matched_insert_all()


def every_clause(table):
    merger = (
        merge(table).when_matched_delete("t.id % 5 = 0").when_matched_update({"n": "s.n"}, "s.id % 2 = 0")
    )
    merger.when_not_matched_insert_all("s.id % 4 < 3")
    return merger.when_not_matched_by_source_update({"n": "1000"}, "t.id % 11 = 3")


def insert_only(table):
    return merge(table).when_not_matched_insert_all()


def insert_some(table):
    """Two rows of the source match one row of the table, which neither inserts nor repeats anything."""
    merger = merge(table, pa.concat_tables([SOURCE, SOURCE.slice(0, 3)]), "t.id = s.id AND s.n < 0")
    return merger.when_not_matched_insert_all("s.id > 100")


def delete_and_insert(table):
    """The condition matches several rows of the source with a row."""
    merger = merge(table, predicate="t.id DIV 10 = s.id DIV 10")
    return merger.when_matched_delete().when_not_matched_insert_all()


def delete_only(table):
    return merge(table, predicate="t.id = s.id").when_matched_delete("t.n < 5")


MERGES = [upsert, every_clause, insert_only, insert_some, delete_and_insert, delete_only]


def both(twins, executor, statement):
    here, there = twins.run(using(executor), lambda table: statement(table).execute())
    names = [name for name in here if not name.endswith("_ms") and name != "num_target_files_added"]
    assert {name: there[name] for name in names} == {name: here[name] for name in names}
    assert not list(twins.there.glob("*.arrow"))


def feed(path, version):
    changes = pa.table(da.DeltaTable(path).load_cdf(version).read_all())
    return changes.drop_columns(["_commit_timestamp"])


@pytest.mark.parametrize("statement", MERGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    "configuration", [PLAIN, COPYING, EVERYTHING], ids=["plain", "copying", "everything"]
)
def test_parts_of_a_merge_change_the_rows_that_one_node_changes(tmp_path, configuration, statement):
    """Three tasks have the files of the table, and one the rows to insert."""
    twins, executor = Twins(tmp_path, configuration, files=5), TwiceExecutor()
    both(twins, executor, statement)
    assert executor.runs <= 4
    rows = [da.DeltaTable(path).to_pyarrow_table() for path in (twins.there, twins.here)]
    assert_same_rows(*rows)
    assert da.DeltaTable(twins.there).verify(deep=True).ok
    if configuration:
        assert_same_rows(feed(twins.there, 5), feed(twins.here, 5))
        ids = [tracked(path) for path in (twins.there, twins.here)]
        assert_same_rows(*(each.filter(pa.compute.less(each["id"], 498)) for each in ids))
        assert len(set(ids[0][ROW_ID].to_pylist())) == ids[0].num_rows


@pytest.mark.parametrize("statement", [upsert, every_clause], ids=lambda each: each.__name__)
def test_a_merge_of_few_files_is_one_task_and_makes_the_commit_of_one_node(tmp_path, statement):
    twins, executor = Twins(tmp_path, EVERYTHING), TwiceExecutor()
    both(twins, executor, statement)
    assert executor.runs == 1
    twins.assert_same_commits()
    assert_same_rows(tracked(twins.there), tracked(twins.here))


def test_columns_that_the_source_brings_are_added(tmp_path):
    twins, executor = Twins(tmp_path, EVERYTHING, files=3), TwiceExecutor(1)
    source = SOURCE.append_column("more", pa.array([{"x": [id, None]} for id in IDS]))
    both(
        twins,
        executor,
        lambda table: (
            table.merge(source, "t.id = s.id", source_alias="s", target_alias="t", merge_schema=True)
            .when_matched_update_all()
            .when_not_matched_insert_all()
        ),
    )
    assert executor.runs == 4
    rows = [da.DeltaTable(path).to_pyarrow_table() for path in (twins.there, twins.here)]
    assert rows[0].column_names == ["id", "n", "p", "more"]
    assert_same_rows(*rows)


def test_an_empty_source_runs_no_task(tmp_path):
    twins, executor = Twins(tmp_path, EVERYTHING, files=5), TwiceExecutor()
    both(
        twins,
        executor,
        lambda table: merge(table, SOURCE.slice(0, 0)).when_matched_update_all(),
    )
    assert executor.runs == 0
    assert da.DeltaTable(twins.there).version() == da.DeltaTable(twins.here).version() == 4


def test_rows_of_a_large_source_are_inserted_by_several_tasks(tmp_path):
    """Two tasks have a file of the table each, and three a batch of the source."""
    twins, executor = Twins(tmp_path, {"delta.enableDeletionVectors": "true"}), TwiceExecutor(1)
    ids = range(50, 300_000)
    source = pa.table({"id": ids, "n": [0] * len(ids), "p": ["p"] * len(ids)})
    both(
        twins,
        executor,
        lambda table: merge(table, source).when_matched_update_all().when_not_matched_insert_all(),
    )
    assert executor.runs == 5
    assert_same_rows(*(da.DeltaTable(path).to_pyarrow_table() for path in (twins.there, twins.here)))


def test_several_source_rows_for_one_row_are_refused_as_on_one_node(tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=5)
    files = sorted(twins.there.rglob("*.parquet"))
    source = pa.concat_tables([SOURCE, SOURCE.slice(10, 1)])

    def refused(path):
        with pytest.raises(UnsupportedFeatureError) as raised:
            merger = merge(da.DeltaTable(path), source).when_matched_update_all()
            merger.when_not_matched_insert_all().execute()
        return str(raised.value)

    wanted = refused(twins.here)
    with using(TwiceExecutor()):
        assert refused(twins.there) == wanted
    assert "id = 70: 2 rows" in wanted
    assert da.DeltaTable(twins.there).version() == 4
    assert not list(twins.there.glob("*.arrow"))
    # First attempts of tasks leave files, which VACUUM deletes.
    assert len(set(twins.there.rglob("*.parquet")) - set(files)) <= 2


def test_a_row_that_cannot_be_inserted_leaves_no_file_of_any_task(tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=5)
    files = sorted(twins.there.rglob("*.*"))
    source = pa.concat_tables([SOURCE, pa.table({"id": [100_000], "n": [1], "p": ["p"]})])
    with using(OnceExecutor()), pytest.raises(ConstraintViolationError, match="small"):
        merger = merge(da.DeltaTable(twins.there), source)
        merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert sorted(twins.there.rglob("*.*")) == files


class CompactingExecutor(OnceExecutor):
    """Compacts the table once, as another writer does, before tasks run."""

    def __init__(self, path):
        super().__init__()
        self.path, self.jobs = path, 0

    def run(self, tasks, limits, discard=lambda result: None):
        self.jobs += 1
        if self.jobs == 1:
            with using(OnceExecutor(99)):
                da.DeltaTable(self.path).optimize.compact()
        yield from super().run(tasks, limits, discard)


def test_a_merge_whose_rows_were_moved_meanwhile_runs_again_with_the_same_source(tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=5)
    upsert(da.DeltaTable(twins.here)).execute()
    executor, table = CompactingExecutor(twins.there), da.DeltaTable(twins.there)
    with using(executor):
        table.merge(
            iter(SOURCE.to_batches()), "t.id = s.id", source_alias="s", target_alias="t"
        ).when_matched_update_all().when_not_matched_insert_all().execute()
    # Tasks of three parts, those of inserts, and after compaction one for the one file.
    assert executor.jobs == 3
    assert [each["operation"] for each in table.history(2)] == ["MERGE", "OPTIMIZE"]
    assert_same_rows(table.to_pyarrow_table(), da.DeltaTable(twins.here).to_pyarrow_table())
    assert not list(twins.there.glob("*.arrow"))


@pytest.mark.feature("identityColumns")
def test_tasks_give_each_number_of_identity_columns_once(tmp_path):
    """Two tasks have a file of the table each, and two a part of the source, without 2 rows that match."""
    identity = {
        "delta.identity.start": 1,
        "delta.identity.step": -2,
        "delta.identity.allowExplicitInsert": False,
    }
    fields = [da.Field("id", "long"), da.Field("number", "long", metadata=identity)]
    table = da.DeltaTable.create(tmp_path / "t", da.Schema(fields))
    for id in (1, 2):
        da.write_deltalake(table, pa.table({"id": [id]}), mode="append")
    executor, ids = TwiceExecutor(1), range(1, 140_001)
    with using(executor):
        merger = merge(da.DeltaTable(tmp_path / "t"), pa.table({"id": ids}))
        merger.when_matched_update({"id": "-t.id"}).when_not_matched_insert({"id": "s.id"}).execute()
    assert executor.runs == 4
    found = da.DeltaTable(tmp_path / "t").to_pyarrow_table().sort_by("id")
    assert found["id"].to_pylist() == [-2, -1, *ids[2:]]
    numbers = found["number"].to_pylist()
    assert numbers[:2] == [-1, 1]
    given = {(1 - number) // 2 for number in numbers}
    assert len(given) == 140_000
    # The part with the two rows that match does not need all numbers that are left to it.
    assert given <= set(range(140_002))
    last = da.DeltaTable(tmp_path / "t").snapshot.schema.field("number").metadata
    assert last["delta.identity.highWaterMark"] == min(numbers)
    upserted = merge(da.DeltaTable(tmp_path / "t"), pa.table({"id": [-1, 0]}))
    upserted.when_matched_delete().when_not_matched_insert({"id": "s.id"}).execute()
    [row] = da.DeltaTable(tmp_path / "t").to_pyarrow_table(filters=[("id", "=", 0)]).to_pylist()
    assert row["number"] == min(numbers) - 2


@pytest.mark.feature("identityColumns")
def test_a_merge_of_few_files_numbers_rows_in_its_task(tmp_path):
    identity = {f"delta.identity.{key}": value for key, value in {"start": 2**63 - 3, "step": 1}.items()}
    identity["delta.identity.allowExplicitInsert"] = True
    fields = [da.Field("id", "long"), da.Field("number", "long", metadata=identity)]
    da.DeltaTable.create(tmp_path / "t", da.Schema(fields))

    def insert(*ids):
        with using(OnceExecutor()):
            merger = merge(da.DeltaTable(tmp_path / "t"), pa.table({"id": ids}))
            merger.when_not_matched_insert({"id": "s.id"}).execute()

    insert(1, 2)
    with pytest.raises(ConstraintViolationError, match="'number' has no numbers left"):
        insert(1, 2, 3, 4)
    insert(2, 3)
    found = da.DeltaTable(tmp_path / "t").to_pyarrow_table().sort_by("id")
    assert found["number"].to_pylist() == [2**63 - 3, 2**63 - 2, 2**63 - 1]
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 2
