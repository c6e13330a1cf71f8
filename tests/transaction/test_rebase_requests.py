"""Requests of a commit to an S3 server after others committed first: their commits, each once, no more."""

import itertools
from collections import Counter

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from tests.support.faulty_server import FaultyServer, Request, faulty_server
from tests.support.stores import BUCKET, raw_s3, s3_options

__all__ = ["s3_options"]

_numbers = itertools.count()
ROWS = pa.table({"id": range(20)})
VECTORS = {"delta.enableDeletionVectors": "true"}
TIMESTAMPS = {"delta.enableInCommitTimestamps": "true"}
CHECKPOINT = {"delta.checkpointInterval": "5"}
CONFIGURATIONS = [{}, VECTORS, TIMESTAMPS, CHECKPOINT]
EVERYDAY = [
    ("append by name", 4, {}),
    ("append", 4, CHECKPOINT),
    ("append", 4, TIMESTAMPS),
    ("delete", 4, VECTORS),
]


@pytest.fixture(scope="module")
def server(s3_options):
    """One server for all tests: each server has a client of its own, which takes long to make."""
    with faulty_server(s3_options) as server:
        yield server


@pytest.fixture
def uri() -> str:
    return f"s3://{BUCKET}/rebase/{next(_numbers)}/t"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table of 13 versions for each configuration, on the disk, where it is written sooner."""
    folders = {}
    for number, configuration in enumerate(CONFIGURATIONS):
        folder = folders[str(configuration)] = tmp_path_factory.mktemp("tables") / str(number)
        write_deltalake(folder, ROWS, configuration=configuration)
        for number in range(12):
            append(folder, 100 + number)
    return folders


def append(table, number: int, options=None) -> None:
    write_deltalake(table, pa.table({"id": [number]}), mode="append", storage_options=options)


def requests_after_conflict(server: FaultyServer, statement, others) -> list[Request]:
    """What is asked between the first put of a commit, which `others` forestall, and its second."""
    puts: list[int] = []

    def fault(request: Request) -> None:
        if request.is_commit():
            puts.append(len(server.requests))
            if len(puts) == 1:
                others()

    server.fault = fault
    statement()
    assert len(puts) == 2
    return server.requests[puts[0] : puts[1] - 1]


@pytest.mark.parametrize(
    ("kind", "count", "configuration"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] * (each not in EVERYDAY))
        for each in itertools.product(["append by name", "append", "delete"], [1, 4], CONFIGURATIONS)
    ],
    ids=str,
)
def test_a_rebase_reads_each_commit_that_came_first_once_and_nothing_else(
    server, s3_options, uri, tables, kind, count, configuration
):
    raw_s3(s3_options).put(f"{tables[str(configuration)]}/", uri, recursive=True)
    table = DeltaTable(uri, storage_options=server.options)
    statement = {
        "append by name": lambda: append(uri, 7, server.options),
        "append": lambda: append(table, 7),
        "delete": lambda: table.delete("id = 3"),
    }[kind]
    asked = requests_after_conflict(
        server, statement, lambda: [append(uri, 200 + number, s3_options) for number in range(count)]
    )
    assert Counter(request.version for request in asked) == {
        None: 1,  # the listing
        **{12 + number: 1 for number in range(1, count + 1)},
    }
    assert [request.is_listing for request in asked].count(True) == 1


def test_a_rebase_of_marked_rows_reads_each_vector_once(server, s3_options, uri):
    write_deltalake(uri, ROWS, storage_options=s3_options, configuration=VECTORS)
    table = DeltaTable(uri, storage_options=server.options)

    def others() -> None:
        for number in range(4, 8):
            DeltaTable(uri, storage_options=s3_options).delete(f"id = {number}")

    asked = requests_after_conflict(server, lambda: table.delete("id = 3"), others)
    read = [request.key for request in asked if request.method == "GET" and not request.is_listing]
    assert sum(key.endswith(".bin") for key in read) == 4
    assert len(set(read)) == len(read) == 8
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [0, 1, 2, *range(8, 20)]
