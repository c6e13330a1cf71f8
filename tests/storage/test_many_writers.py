"""Many writers of one table, and stores of which some requests fail: nothing is lost or there twice."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, DeltaError
from tests.support.cloud_server import ACCOUNT, cloud_server
from tests.support.faulty_server import FAULTS, faulty_server
from tests.support.stores import BUCKET, SERVERS

RETRIES = CommitProperties(max_commit_retries=10_000)
ALL_SERVERS = [
    *(pytest.param(kind, 3, 3) for kind in ("s3", "gs")),
    *(pytest.param(kind, 16, 50, marks=pytest.mark.slow) for kind in ("s3", "gs", "azure", *SERVERS)),
]


@pytest.mark.parametrize(("writable_place", "writers", "commits"), ALL_SERVERS, indirect=["writable_place"])
def test_each_commit_of_many_writers_is_a_version(writable_place, writers, commits) -> None:
    store = writable_place.store
    options = {"storage_options": store.storage_options}
    write_deltalake(store.uri, pa.table({"id": pa.array([], pa.int64())}), **options)

    def write(writer: int) -> None:
        table = DeltaTable(store.uri, **options)
        for number in range(commits):
            rows = pa.table({"id": [writer * commits + number]})
            write_deltalake(table, rows, mode="append", commit_properties=RETRIES)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    table = DeltaTable(store.uri, **options)
    assert table.version() == writers * commits
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == list(range(writers * commits))


class Step:
    """A random operation that makes some ids out of others."""

    def __init__(self, number: int, ids: set[int]) -> None:
        chance = random.Random(number)
        self.number, self.known = number, chance.choice(sorted(ids)) if ids else 0
        self.what = chance.choice(["append", "delete", "merge", "compact", "checkpoint"])
        self.after = {
            "append": ids | {number},
            "delete": ids - {self.known},
            "merge": ids | {number, self.known},
        }.get(self.what, ids)

    def run(self, table: DeltaTable) -> None:
        match self.what:
            case "append":
                write_deltalake(table, pa.table({"id": [self.number]}), mode="append")
            case "delete":
                table.delete(f"id = {self.known}")
            case "merge":
                source = pa.table({"id": [self.number, self.known]})
                merge = table.merge(source, "t.id = s.id", "s", "t")
                merge.when_matched_update_all().when_not_matched_insert_all().execute()
            case "compact":
                table.optimize.compact()
            case "checkpoint":
                table.create_checkpoint()


@pytest.mark.parametrize(
    ("kind", "operations"),
    [("gs", 3), *(pytest.param(kind, 150, marks=pytest.mark.slow) for kind in ("s3", "gs", "azure"))],
)
def test_operations_succeed_or_fail_whole_where_a_twentieth_of_the_requests_fails(
    request, kind, operations
) -> None:
    # A refusal is not repeated, so that some operations fail.
    faults, kinds = random.Random(5), [*FAULTS, "refused"]
    with ExitStack() as stack:
        if kind == "s3":
            server = stack.enter_context(faulty_server(request.getfixturevalue("s3_options")))
            uri, options = f"s3://{BUCKET}/faults", server.options
        else:
            server = stack.enter_context(cloud_server(BUCKET))
            uri, options = f"gs://{BUCKET}/faults", server.options_of_google
            if kind == "azure":
                uri, options = (
                    f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/faults",
                    server.options_of_azure,
                )
        write_deltalake(
            uri,
            pa.table({"id": [0]}),
            configuration={"delta.enableDeletionVectors": "true"},
            storage_options=options,
        )
        ids, failed = {0}, 0
        for number in range(1, operations + 1):
            step = Step(number, ids)
            server.fault = lambda _: faults.choice(kinds) if faults.random() < 0.05 else None
            error = None
            try:
                step.run(DeltaTable(uri, storage_options=options))
            except (DeltaError, OSError) as raised:
                error, failed = raised, failed + 1
            finally:
                server.fault = lambda _: None
            found = DeltaTable(uri, storage_options=options).to_pyarrow_table()["id"].to_pylist()
            assert len(found) == len(set(found)), "a row is there twice"
            if error is None:
                assert set(found) == step.after
            elif isinstance(error, CommitStateUnknownError):
                assert set(found) in (ids, step.after)
            else:
                assert set(found) == ids, f"{error!r} after a commit"
            ids = set(found)
        assert operations < 100 or 0 < failed < operations / 2
