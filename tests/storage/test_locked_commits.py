"""Commits under the lock in DynamoDB that Spark's S3DynamoDBLogStore takes too."""

import itertools
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, CorruptLogError, StorageError
from deltaarrow.storage import Store, open_store
from deltaarrow.storage.commit_lock.lock_settings import lock_settings
from tests.support.faulty_server import faulty_server
from tests.support.spark_log_store import SparkLogStore, create_lock_table
from tests.support.stores import BUCKET

LOCK = "delta-log-of-tests"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def lock_options(s3_options) -> dict[str, str]:
    create_lock_table(s3_options, LOCK)
    return {**s3_options, "AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": LOCK}


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/locked-{next(_numbers)}"


@pytest.fixture
def spark_log(s3_options, lock_options, place) -> SparkLogStore:
    return SparkLogStore(s3_options, LOCK, place)


@pytest.fixture
def faulty(lock_options):
    with faulty_server(lock_options) as server:
        server.options = {**server.options, "max_retries": "0"}
        del server.options["config_kwargs"]
        yield server


def file(version: int) -> str:
    return f"_delta_log/{version:020}.json"


def versions(store: Store, first: int = 0) -> dict[int, bytes]:
    """The commits of the log from the version `first` on."""
    entries = store.list_from("_delta_log", f"{first:020}")
    names = [entry.name for entry in entries if entry.name.endswith(".json")]
    return {int(name[11:31]): store.read(name) for name in names}


def test_a_commit_leaves_what_spark_leaves(place, lock_options, spark_log) -> None:
    store = open_store(place, lock_options)
    assert store.can_put_if_absent
    begin = int(time.time())
    store.put_if_absent(file(0), b"ours")
    spark_log.commit(1, b"Spark's")
    ours, sparks = spark_log.entry(0), spark_log.entry(1)
    for item, version in ((ours, 0), (sparks, 1)):
        temporary = item.pop("tempPath")["S"]
        assert temporary.startswith(f".tmp/{version:020}.json.")
        assert len(temporary.rpartition(".")[2]) == 36
        expires = int(item.pop("expireTime")["N"])
        assert begin + 86_400 <= expires <= time.time() + 86_400
        path, name = {"S": place}, {"S": f"{version:020}.json"}
        assert item == {"tablePath": path, "fileName": name, "complete": {"S": "true"}}
    assert versions(store) == {0: b"ours", 1: b"Spark's"}
    assert [name for name in spark_log.names() if "0.json." in name] == [], "nothing of ours is left over"


def test_the_option_says_how_long_entries_are_kept(place, lock_options, spark_log) -> None:
    begin = int(time.time())
    open_store(place, {**lock_options, "DELTA_DYNAMO_TTL_SECONDS": "60"}).put_if_absent(file(0), b"0")
    assert begin + 60 <= int(spark_log.entry(0)["expireTime"]["N"]) <= time.time() + 60


def test_tables_that_both_write(place, lock_options, spark_log) -> None:
    options = {"storage_options": lock_options}
    write_deltalake(place, pa.table({"id": [0]}), **options)
    commit = spark_log.read(f"{0:020}.json")
    added = next(line for line in commit.splitlines() if line.startswith(b'{"add"'))
    spark_log.commit(1, added, steps=2)
    table = DeltaTable(place, **options)
    assert (table.version(), table.count()) == (1, 1), "a reader finishes the commit that Spark began"
    write_deltalake(table, pa.table({"id": [2]}), mode="append")
    copy = pickle.loads(pickle.dumps(table))
    write_deltalake(copy, pa.table({"id": [3]}), mode="append")
    assert not spark_log.commit(3, b"late")
    assert [spark_log.entry(version)["complete"]["S"] for version in range(4)] == ["true"] * 4
    assert sorted(DeltaTable(place, **options).to_pyarrow_table()["id"].to_pylist()) == [0, 2, 3]


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_commit_that_spark_has_begun(place, lock_options, spark_log, steps) -> None:
    spark_log.commit(0, b"first")
    spark_log.commit(1, b"second", steps)
    store = open_store(place, lock_options)
    is_made = steps > 1
    if is_made:
        with pytest.raises(FileExistsError):
            store.put_if_absent(file(1), b"ours")
    else:
        store.put_if_absent(file(1), b"ours")
    store.put_if_absent(file(2), b"third")
    assert versions(store) == {0: b"first", 1: b"second" if is_made else b"ours", 2: b"third"}
    assert spark_log.entry(1)["complete"] == {"S": "true"}


def test_the_next_version_finishes_the_one_before(place, lock_options, spark_log) -> None:
    spark_log.commit(0, b"first", steps=2)
    open_store(place, lock_options).put_if_absent(file(1), b"second")
    assert spark_log.read(f"{0:020}.json") == b"first"
    assert spark_log.entry(0)["complete"] == {"S": "true"}


CONDITIONS = pytest.mark.parametrize(
    "ignores_conditions", [False, pytest.param(True, marks=pytest.mark.slow)]
)
"""Whether the server puts objects whatever their condition is."""


@pytest.mark.parametrize(
    ("ignores_conditions", "requests"),
    [
        (False, range(5, 9)),
        *(pytest.param(each, itertools.count(1), marks=pytest.mark.slow) for each in (False, True)),
    ],
)
def test_killed_before_a_request(
    place, lock_options, spark_log, faulty, ignores_conditions, requests
) -> None:
    faulty.ignores_conditions = ignores_conditions
    open_store(place, lock_options).put_if_absent(file(0), b"0")
    for version, request in enumerate(requests, 1):
        dying = open_store(place, faulty.options)
        assert dying.can_put_if_absent
        assert dying.honours_conditions is not ignores_conditions
        left = itertools.count(request - 1, -1)
        faulty.fault = lambda _, left=left: "lost request" if next(left) <= 0 else None
        outcome = attempt(dying, version)
        faulty.fault = lambda _: None
        is_made = spark_log.entry(version) is not None
        assert outcome == is_made, "what is put is made, and what is not put is not"
        is_whole = next(left) > 0
        others = open_store(place, lock_options)
        found = versions(others, version - 1)
        assert found == {each: str(each).encode() for each in range(version - 1, version + is_made)}
        if is_made:
            assert spark_log.entry(version)["complete"] == {"S": "true"}
        else:
            others.put_if_absent(file(version), str(version).encode())
        if is_whole:
            assert request > 6
            break


def attempt(store: Store, version: int) -> bool:
    try:
        store.put_if_absent(file(version), str(version).encode())
    except (StorageError, OSError) as error:
        assert not isinstance(error, FileExistsError)
        return False
    return True


@pytest.mark.parametrize("requests", [range(5, 8), pytest.param(itertools.count(1), marks=pytest.mark.slow)])
def test_lost_answers(place, lock_options, spark_log, faulty, requests) -> None:
    store = open_store(place, faulty.options)
    store.put_if_absent(file(0), b"0")
    for version, request in enumerate(requests, 1):
        left = itertools.count(request - 1, -1)
        faulty.fault = lambda _, left=left: "lost answer" if next(left) == 0 else None
        is_put = attempt(store, version)
        faulty.fault = lambda _: None
        assert is_put == (spark_log.entry(version) is not None)
        if next(left) > 0:
            assert request > 6
            break
        if not is_put:
            store.put_if_absent(file(version), str(version).encode())
        found = versions(store, version - 1)
        assert found == {each: str(each).encode() for each in (version - 1, version)}


def test_a_commit_of_which_nobody_knows(place, lock_options, faulty, spark_log) -> None:
    write_deltalake(place, pa.table({"id": [0]}), storage_options=lock_options)
    table = DeltaTable(place, storage_options=faulty.options)
    began = []

    def fault(request):
        if "/_delta_log/.tmp/" in request.key:
            began.append(request)
        return "lost request" if began and request.key == "" else None

    faulty.fault = fault
    with pytest.raises(CommitStateUnknownError):
        write_deltalake(table, pa.table({"id": [1]}), mode="append")
    faulty.fault = lambda _: None
    assert [name for name in spark_log.names() if name.startswith(".tmp/")], "a late request would need it"
    assert DeltaTable(place, storage_options=lock_options).version() == 0


@CONDITIONS
def test_writers_at_once(place, lock_options, faulty, spark_log, ignores_conditions) -> None:
    faulty.ignores_conditions = ignores_conditions
    commits = 2

    def write(writer: int) -> list[int]:
        store, made, version = open_store(place, faulty.options), [], 0
        while len(made) < commits:
            data = f"{writer} {version}".encode()
            if writer == 0:
                is_made = spark_log.commit(version, data)
            else:
                try:
                    store.put_if_absent(file(version), data)
                    is_made = True
                except FileExistsError:
                    is_made = False
            made += [version] if is_made else []
            version += 1
        return made

    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(write, range(3)))
    assert sorted(itertools.chain(*made)) == list(range(3 * commits))
    expected = {version: f"{writer} {version}".encode() for writer in range(3) for version in made[writer]}
    assert versions(open_store(place, lock_options)) == expected


@pytest.mark.slow
@CONDITIONS
def test_many_writers_of_a_table_lose_nothing(
    place, lock_options, faulty, spark_log, ignores_conditions
) -> None:
    """Sixteen of ours and one by Spark's log store; some servers have nothing but the lock."""
    faulty.ignores_conditions = ignores_conditions
    writers, commits = 16, 5
    write_deltalake(place, pa.table({"id": pa.array([], pa.int64())}), storage_options=faulty.options)

    def write(writer: int) -> None:
        table = DeltaTable(place, storage_options=faulty.options)
        for number in range(commits):
            rows = pa.table({"id": [writer * commits + number]})
            write_deltalake(
                table,
                rows,
                mode="append",
                commit_properties=CommitProperties(max_commit_retries=10_000),
            )

    def write_as_spark() -> None:
        version = made = 0
        while made < commits:
            made += spark_log.commit(version, b'{"commitInfo":{"operation":"WRITE"}}\n')
            version += 1

    with ThreadPoolExecutor(writers + 1) as pool:
        found = [pool.submit(write, writer) for writer in range(writers)] + [pool.submit(write_as_spark)]
        for each in found:
            each.result()
    table = DeltaTable(place, storage_options=lock_options)
    assert table.version() == (writers + 1) * commits
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == list(range(writers * commits))
    entries = [spark_log.entry(version) for version in range(table.version() + 1)]
    assert [entry["complete"]["S"] for entry in entries] == ["true"] * len(entries)


def test_a_writer_without_the_lock_is_not_overwritten(place, lock_options, s3_options, faulty) -> None:
    store = open_store(place, faulty.options)
    store.put_if_absent(file(0), b"first")
    without, done = open_store(place, s3_options), []

    def meanwhile(request):
        if "/_delta_log/.tmp/" in request.key and not done:
            done.append(without.put_if_absent(file(1), b"theirs"))

    faulty.fault = meanwhile
    with pytest.raises(FileExistsError):
        store.put_if_absent(file(1), b"ours")
    store.put_if_absent(file(2), b"third")
    assert versions(store) == {0: b"first", 1: b"theirs", 2: b"third"}


def test_other_files_need_no_lock_but_the_condition(place, lock_options, faulty, spark_log) -> None:
    store = open_store(place, lock_options)
    store.put_if_absent("metadata/v1.json", b"1")
    with pytest.raises(FileExistsError):
        store.put_if_absent("metadata/v1.json", b"2")
    faulty.ignores_conditions = True
    with pytest.raises(StorageError, match="lock covers commits only"):
        open_store(place, {**faulty.options, "AWS_TOKEN": "another"}).put_if_absent("metadata/v2.json", b"2")


def test_two_schemes_are_two_locks(place, lock_options, spark_log) -> None:
    spark_log.commit(0, b"first")
    other = open_store(place.replace("s3a://", "s3://"), lock_options)
    with pytest.raises(StorageError, match="other writers lock it as s3a://"):
        other.put_if_absent(file(1), b"second")
    named = open_store(place.replace("s3a://", "s3://"), {**lock_options, "delta_dynamo_scheme": "s3a"})
    named.put_if_absent(file(1), b"second")
    assert spark_log.entry(1) is not None
    again = open_store(named.uri, named.storage_options)
    again.put_if_absent(file(2), b"third")
    assert spark_log.entry(2) is not None


def test_entries_of_a_deleted_table_are_named(place, lock_options, spark_log) -> None:
    spark_log.commit(0, b"first")
    store = open_store(place, lock_options)
    store.delete(file(0))
    with pytest.raises(StorageError, match="if the table was deleted, delete its entries there too"):
        store.put_if_absent(file(0), b"anew")


def test_a_commit_whose_files_are_gone_is_an_error(place, lock_options, spark_log) -> None:
    spark_log.commit(0, b"first", steps=2)
    store = open_store(place, lock_options)
    store.delete(f"_delta_log/{spark_log.entry(0)['tempPath']['S']}")
    with pytest.raises(CorruptLogError, match="neither file is there"):
        store.list_from("_delta_log")


def test_a_lock_that_cannot_be_reached(place, lock_options) -> None:
    absent = open_store(place, {**lock_options, "DELTA_DYNAMO_TABLE_NAME": "no-such-table"})
    with pytest.raises(StorageError, match=r"'no-such-table' in DynamoDB: .*create the table with the keys"):
        absent.put_if_absent(file(0), b"")
    away = {**lock_options, "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9", "max_retries": "0"}
    with pytest.raises(StorageError, match="check AWS_ENDPOINT_URL_DYNAMODB") as raised:
        open_store(place, away).list_from("_delta_log")
    assert "secret" not in str(raised.value)


SPARK = "spark.io.delta.storage.S3DynamoDBLogStore"


@pytest.mark.parametrize(
    "given",
    [
        {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "x", "aws_region_dynamodb": "r"},
        {f"{SPARK}.ddb.tableName": "x", f"{SPARK}.ddb.region": "r"},
        {f"{SPARK[6:]}.ddb.tableName": "x", f"{SPARK}.ddb.region": "r"},
    ],
)
def test_names_of_options(given) -> None:
    settings = lock_settings(
        {"AWS_REGION": "s", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", **given}
    )
    assert (settings.table, settings.client["region_name"], settings.ttl_seconds) == ("x", "r", 86_400)
    assert "'b'" not in repr(settings)
    assert lock_settings({**given, f"{SPARK}.ddb.ttl": "60"}).ttl_seconds == 60


def test_variables_of_the_environment(monkeypatch, place) -> None:
    monkeypatch.setenv("DELTA_DYNAMO_TABLE_NAME", "from-environment")
    assert lock_settings({}) is None
    monkeypatch.setenv("AWS_S3_LOCKING_PROVIDER", "dynamodb")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    settings = lock_settings({"AWS_ENDPOINT_URL": "http://127.0.0.1:8"})
    assert (settings.table, settings.client["endpoint_url"]) == ("from-environment", "http://127.0.0.1:9")
    store = open_store(place, {"AWS_REGION": "eu-west-1"})
    pickled = pickle.dumps(store)
    monkeypatch.delenv("AWS_S3_LOCKING_PROVIDER")
    assert pickle.loads(pickled) == store
    assert type(pickle.loads(pickled)) is type(store)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"AWS_S3_LOCKING_PROVIDER": "zookeeper"}, "must be 'dynamodb', the only kind of lock"),
        ({"DELTA_DYNAMO_TABLE_NAME": "a", f"{SPARK}.ddb.tableName": "b"}, "disagrees with another"),
        ({f"{SPARK}.ddb.ttl": "-1"}, "must be a number, 0 or more"),
        ({"delta_dynamo_scheme": "gs"}, "is one of s3, s3a, s3n"),
        ({f"{SPARK}.credentials.provider": "x"}, "unknown storage option"),
        (
            {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "AWS_ACCESS_KEY_ID_DYNAMODB": "a"},
            "are incomplete: give AWS_ACCESS_KEY_ID_DYNAMODB",
        ),
    ],
)
def test_options_that_are_refused(given, message, place) -> None:
    with pytest.raises(StorageError, match=message):
        open_store(place, given)


def test_variables_that_mean_no_lock(monkeypatch, place) -> None:
    monkeypatch.setenv("AWS_S3_LOCKING_PROVIDER", "zookeeper")
    with pytest.raises(StorageError, match="the variable AWS_S3_LOCKING_PROVIDER must be 'dynamodb'"):
        open_store(place, {})
