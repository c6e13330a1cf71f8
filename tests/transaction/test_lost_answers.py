"""Lost requests to, and answers of, an S3 server: a commit that was made is reported as made."""

import itertools
import pickle
from collections import Counter

import pyarrow as pa
import pytest
import s3fs

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, DeltaError, StorageError
from deltaarrow.schema import Field
from tests.support.faulty_server import FaultyServer, Request, faulty_server
from tests.support.stores import BUCKET, s3_options

__all__ = ["s3_options"]

ROWS = pa.table({"id": [1, 2], "name": ["a", "b"]})
_numbers = itertools.count()


@pytest.fixture(scope="module")
def proxy(s3_options):
    with faulty_server(s3_options) as server:
        yield server


@pytest.fixture
def server(proxy, monkeypatch):
    """One server for all tests: each server has a client of its own, which takes long to make."""
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 2)
    proxy.fault = lambda request: None
    return proxy


@pytest.fixture
def without_retries(server, monkeypatch):
    """The client asks once: where every request is lost, it only pauses before it asks again."""
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)


@pytest.fixture
def uri() -> str:
    return f"s3://{BUCKET}/lost/{next(_numbers)}/t"


@pytest.fixture
def table(server: FaultyServer, uri: str) -> DeltaTable:
    write_deltalake(uri, ROWS, storage_options=server.options)
    return DeltaTable(uri, storage_options=server.options)


def ids(uri: str, server: FaultyServer) -> list[int]:
    server.fault = lambda request: None
    table = DeltaTable(uri, storage_options=server.options)
    assert table.verify(deep=True).ok
    return sorted(table.to_pyarrow_table().column("id").to_pylist())


def data_files(server: FaultyServer, table: DeltaTable) -> list[str]:
    server.fault = lambda request: None
    found = table.snapshot.store.list_recursive()
    return [entry.name for entry in found if entry.name.endswith(".parquet")]


def first(times: int, fault: str, wanted):
    """A fault of the first requests of a kind, and of no other."""
    left = itertools.count()

    def decide(request: Request):
        return fault if wanted(request) and next(left) < times else None

    return decide


# --- the put of a commit ----------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 100])
def test_a_commit_whose_answers_are_lost_is_made_once_and_reported_as_made(server, table, uri, times):
    server.fault = first(times, "lost answer", Request.is_commit)
    server.requests.clear()
    assert write_deltalake(table, ROWS, mode="append").version == 1
    # The HTTP client itself sends a request again on another connection if one ends that was used before.
    assert 1 <= sum(map(Request.is_commit, server.requests)) <= 2
    assert ids(uri, server) == [1, 1, 2, 2]
    assert len(table.history()) == 2


def test_the_log_is_asked_for_a_commit_whose_request_is_lost_before_it_is_put_again(server, table, uri):
    server.fault = first(2, "lost request", Request.is_commit)
    server.requests.clear()
    assert write_deltalake(table, ROWS, mode="append").version == 1
    asked = [each.method for each in server.requests if each.version == 1]
    assert "GET" in asked and asked[-1] == "PUT"
    assert ids(uri, server) == [1, 1, 2, 2]


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.slow), 100])
def test_a_new_table_whose_answers_are_lost_is_made(server, uri, times):
    server.fault = first(times, "lost answer", Request.is_commit)
    assert write_deltalake(uri, ROWS, storage_options=server.options).version == 0
    assert ids(uri, server) == [1, 2]


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.slow), 100])
def test_a_commit_that_lost_to_another_and_the_answer_with_it_comes_after_the_other(
    server, table, uri, times, s3_options
):
    server.fault = first(times, "lost answer", lambda each: each.is_commit() and each.version == 1)
    write_deltalake(uri, ROWS, mode="append", storage_options=s3_options)
    assert write_deltalake(table, pa.table({"id": [7], "name": ["c"]}), mode="append").version == 2
    assert ids(uri, server) == [1, 1, 2, 2, 7]


def test_a_commit_that_cannot_be_looked_for_is_in_doubt_and_names_its_version(server, table, uri):
    after_put = []

    def fault(request: Request):
        if request.is_commit() and request.version == 1:
            after_put.append(request)
        return "lost answer" if after_put else None

    server.fault = fault
    with pytest.raises(CommitStateUnknownError, match="version 1 of s3://") as raised:
        write_deltalake(table, ROWS, mode="append")
    assert raised.value.version == 1
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.version, again.transaction_id) == (1, raised.value.transaction_id)
    assert ids(uri, server) == [1, 1, 2, 2]
    table.update_incremental()
    assert table.history(1)[0]["txnId"] == raised.value.transaction_id


def test_a_put_that_never_arrived_is_in_doubt_and_its_files_stay(server, table, uri):
    server.fault = first(100, "lost request", Request.is_commit)
    with pytest.raises(CommitStateUnknownError, match="may yet be created") as raised:
        write_deltalake(table, ROWS, mode="append")
    assert raised.value.version == 1
    assert ids(uri, server) == [1, 2]
    assert len(data_files(server, table)) == 2


@pytest.mark.parametrize("fault", ["busy", "broken"])
def test_put_that_a_server_never_takes_is_repeated_by_one_client_alone(server, table, uri, fault):
    """botocore would repeat each of our attempts."""
    options = {**server.options, "config_kwargs": {"retries": {"mode": "standard", "total_max_attempts": 3}}}
    other, asked = DeltaTable(uri, storage_options=options), Counter[str]()

    def decide(request: Request):
        asked[request.method] += request.is_commit() and request.method == "PUT"
        return fault if request.is_commit() else None

    server.fault = decide
    with pytest.raises(CommitStateUnknownError):
        write_deltalake(other, ROWS, mode="append")
    assert asked["PUT"] == 2
    assert ids(uri, server) == [1, 2]


def test_a_commit_that_is_refused_is_not_in_doubt(server, table, uri):
    """The server says no, and there is nothing under the name: the files of the commit are deleted."""
    server.fault = lambda request: "refused" if request.is_commit() else None
    with pytest.raises(PermissionError):
        write_deltalake(table, ROWS, mode="append")
    assert ids(uri, server) == [1, 2]
    assert len(data_files(server, table)) == 1


# --- what comes after a commit ----------------------------------------------------------------------

STATEMENTS = {
    "delete": lambda table: table.delete("id = 1"),
    "update": lambda table: table.update({"name": "'x'"}),
    "merge": lambda table: (
        table.merge(pa.table({"id": [3], "name": ["c"]}), "target.id = source.id")
        .when_not_matched_insert_all()
        .execute()
    ),
    "append": lambda table: write_deltalake(table, ROWS, mode="append"),
    "overwrite": lambda table: write_deltalake(table, ROWS, mode="overwrite"),
    "properties": lambda table: table.alter.set_table_properties({"delta.appendOnly": "true"}),
    "constraint": lambda table: table.alter.add_constraint({"positive": "id > 0"}),
    "columns": lambda table: table.alter.add_columns(Field("more", "string")),
    "name": lambda table: table.alter.set_table_name("orders"),
    "transaction": lambda table: commit_nothing_but_an_application(table),
}

EVERYDAY = ("delete", "append", "properties")
"""The statements that are tried every day: one with rows that change, one with rows, one without."""


def commit_nothing_but_an_application(table: DeltaTable) -> None:
    with table.transaction("LOAD") as transaction:
        transaction.set_application("etl", 7)


def after_commit(fault: str):
    """All requests after that of the first commit are lost."""
    made = []

    def decide(request: Request):
        if made:
            return fault
        if request.is_commit():
            made.append(request)
        return None

    return decide


@pytest.mark.usefixtures("without_retries")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERYDAY)) for name in STATEMENTS],
)
def test_a_statement_that_is_committed_succeeds_whatever_fails_after_it(server, table, name, caplog):
    server.fault = after_commit("lost request")
    STATEMENTS[name](table)
    with pytest.raises(StorageError):
        table.version()
    server.fault = lambda request: None
    assert table.version() == 1
    assert table.verify().ok
    assert table.history(1)[0]["version"] == 1
    assert "version 1 of s3://" in caplog.text


@pytest.mark.usefixtures("without_retries")
def test_a_table_that_is_created_is_returned_whatever_fails_after_it(server, uri):
    server.fault = after_commit("lost request")
    schema = pa.schema([("id", pa.int64())])
    table = DeltaTable.create(uri, schema, storage_options=server.options)
    server.fault = lambda request: None
    assert (table.version(), table.schema().names) == (0, ["id"])


# --- the puts of data files -------------------------------------------------------------------------


def is_data_file(request: Request) -> bool:
    return request.method in ("PUT", "POST") and request.key.endswith(".parquet")


def is_vector(request: Request) -> bool:
    return request.method == "PUT" and request.key.endswith(".bin")


@pytest.mark.parametrize("megabytes", [0, 20], ids=["at once", "in parts"])
def test_a_data_file_whose_answers_are_lost_once_is_ours(server, table, uri, megabytes):
    lost: set[Request] = set()
    asked: Counter[Request] = Counter()

    def each_first_try(request: Request):
        asked[request] += 1
        if not is_data_file(request) or asked[request] % 2 == 0:
            return None
        lost.add(request)
        return "lost answer"

    text = pa.array([str(number) * 8 for number in range(megabytes << 16)] or ["a"])
    rows = pa.table({"id": pa.array(range(len(text)), pa.int64()), "name": text})
    server.fault = each_first_try
    write_deltalake(table, rows, mode="append")
    assert {request.method for request in lost} == ({"PUT", "POST"} if megabytes else {"PUT"})
    assert len(ids(uri, server)) == 2 + len(rows)


def test_a_data_file_all_of_whose_answers_are_lost_is_ours(server, table, uri):
    server.fault = first(100, "lost answer", is_data_file)
    write_deltalake(table, ROWS, mode="append")
    assert ids(uri, server) == [1, 1, 2, 2]


def test_a_data_file_that_never_arrives_fails_the_statement_with_an_error_of_ours(server, table, uri):
    server.fault = first(100, "lost request", is_data_file)
    with pytest.raises(DeltaError, match="cannot reach"):
        write_deltalake(table, ROWS, mode="append")
    assert ids(uri, server) == [1, 2]


def test_a_deletion_vector_whose_answer_is_lost_is_ours(server, uri):
    write_deltalake(
        uri, ROWS, storage_options=server.options, configuration={"delta.enableDeletionVectors": "true"}
    )
    server.fault = first(1, "lost answer", is_vector)
    DeltaTable(uri, storage_options=server.options).delete("id = 1")
    assert ids(uri, server) == [2]


@pytest.mark.usefixtures("server")
def test_a_server_is_proven_by_puts_whose_answers_are_lost(s3_options, uri):
    with faulty_server(s3_options) as unknown:
        unknown.fault = first(1, "lost answer", lambda request: "_put_if_absent_" in request.key)
        write_deltalake(uri, ROWS, storage_options=unknown.options)
        assert any("_put_if_absent_" in request.key for request in unknown.requests)
        assert ids(uri, unknown) == [1, 2]
