"""Statements about names of a file catalog that stop anywhere: each name is as before or as after."""

import contextlib
import errno
import functools
import itertools
import json
import multiprocessing
import os
import queue
import random
import shutil
import signal
import threading
import time
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.catalogs import FileNamespace, NewFolder
from deltaarrow.engines.duckdb.delta_connection import DeltaConnection
from deltaarrow.errors import (
    ConstraintViolationError,
    CorruptDataFileError,
    DeltaError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.storage import open_store
from tests.support.system_calls import Calls, Killed

BEFORE = {"a": [(1,), (2,)], "w": [(1,), (2,)]}
CREATED = BEFORE | {"b": [(7,)]}
STATEMENTS = {
    "create": ("CREATE TABLE b (n INT)", BEFORE | {"b": []}),
    "ctas": ("CREATE TABLE b AS SELECT 7 AS n", CREATED),
    "if-not-exists": ("CREATE TABLE IF NOT EXISTS b AS SELECT 7 AS n", CREATED),
    "or-replace-new": ("CREATE OR REPLACE TABLE b AS SELECT 7 AS n", CREATED),
    "or-replace": ("CREATE OR REPLACE TABLE a AS SELECT 7 AS n", {"a": [(7,)], "w": [(7,)]}),
    "like": ("CREATE TABLE b LIKE a", BEFORE | {"b": []}),
    "deep-clone": ("CREATE TABLE b DEEP CLONE a", BEFORE | {"b": BEFORE["a"]}),
    "shallow-clone": ("CREATE TABLE b SHALLOW CLONE a", BEFORE | {"b": BEFORE["a"]}),
    "rename": ("ALTER TABLE a RENAME TO b", {"b": BEFORE["a"], "w": "gone"}),
    "drop": ("DROP TABLE a", {"w": "gone"}),
    "drop-if-exists": ("DROP TABLE IF EXISTS a", {"w": "gone"}),
    "create-view": ("CREATE VIEW default.v AS SELECT 7 AS n", BEFORE | {"v": [(7,)]}),
    "replace-view": ("CREATE OR REPLACE VIEW default.w AS SELECT 7 AS n", BEFORE | {"w": [(7,)]}),
    "drop-view": ("DROP VIEW default.w", {"a": BEFORE["a"]}),
    "create-schema": ("CREATE SCHEMA s", BEFORE | {"s": "schema"}),
    "drop-schema": ("DROP SCHEMA empty", BEFORE),
    "cascade": ("DROP SCHEMA full CASCADE", BEFORE),
}
STEPS = pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.slow)])
MAY_STAY = {
    **dict.fromkeys(
        ("create", "ctas", "if-not-exists", "or-replace-new", "like", "deep-clone", "shallow-clone"), "b"
    ),
    **dict.fromkeys(("drop", "drop-if-exists"), "a"),
}
"""Folders whose files stay if a statement is killed: nothing shows that they are nobody else's."""
VIEWS = {name for name in STATEMENTS if "view" in name}


def prepare(folder: Path, name: str) -> dict[str, object]:
    """Make a catalog with a table and a view; return what it holds."""
    before: dict[str, object] = dict(BEFORE)
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n; INSERT INTO a VALUES (2)")
        con.sql("CREATE VIEW default.w AS FROM a", dialect="duckdb")
        if name == "drop-schema":
            con.sql("CREATE SCHEMA empty")
            before["empty"] = "schema"
        if name == "cascade":
            con.sql("CREATE SCHEMA full; CREATE TABLE full.x AS SELECT 1 AS n")
            con.sql("CREATE VIEW full.y AS SELECT 1 AS n", dialect="duckdb")
            before["full"] = "schema"
    return before


def run(folder: Path, name: str) -> None:
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        con.sql(STATEMENTS[name][0], dialect="duckdb" if name in VIEWS else "spark")


def content(folder: Path) -> dict[str, object]:
    """What each name of the catalog means, as another process finds it."""
    found: dict[str, object] = {}
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        for schema in con.sql("SHOW SCHEMAS").column("namespace").to_pylist():
            if schema != "default":
                found[schema] = "schema"
                continue
            for each in con.sql("SHOW TABLES").column("tableName").to_pylist():
                try:
                    found[each] = sorted(con.sql(f"SELECT * FROM default.{each}").fetchall())
                except DeltaError:
                    assert each == "w"  # a view over a table that is dropped
                    found[each] = "gone"
    return found


def repeat(folder: Path, name: str) -> None:
    """Run a statement again, which may find that it was done."""
    with contextlib.suppress(DeltaError):
        run(folder, name)


def left_over(folder: Path) -> set[str]:
    """The folders with files of tables that no name leads to."""
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        names = con.catalog.namespace("default").tables()
        known = {con.catalog.namespace("default").find(each).uri for each in names}
    tables = {str(each.parent) for each in folder.rglob("*.parquet")}
    tables |= {str(each.parent) for each in folder.rglob("_delta_log")}
    return tables - known


def check(folder: Path, name: str, before: dict[str, object]) -> bool:
    """Check a catalog after a statement was stopped; return whether the statement took place."""
    after, found = STATEMENTS[name][1], content(folder)
    if name == "cascade" and "full" in found:
        before = before | {"full": "schema"}
    assert found in (before, after)
    repeat(folder, name)
    assert content(folder) == after
    if name != "cascade":
        assert left_over(folder) <= {str(folder / "default" / each) for each in MAY_STAY.get(name, ())}
    return found == after


@STEPS
@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_that_is_killed_before_any_call_is_done_or_not(tmp_path, monkeypatch, name, step):
    nth, done = random.Random(name).randrange(min(step, 6)), []
    while True:
        folder = tmp_path / str(nth)
        before = prepare(folder, name)
        with monkeypatch.context() as patch:
            calls = Calls(patch, nth, Killed(), is_last=True)
            with contextlib.suppress(Killed):
                run(folder, name)
            if calls.left >= 0:
                break
        done.append(check(folder, name, before))
        nth += step
    assert done == sorted(done)


BESIDE_DROP = {
    "insert": "INSERT INTO a VALUES (3)",
    "update": "UPDATE a SET n = 5 WHERE n = 1",
    "merge": "MERGE INTO a AS t USING w AS s ON t.n = s.n WHEN MATCHED THEN UPDATE SET n = 5",
    "ctas": "CREATE TABLE b AS SELECT 7 AS n",
    "if-not-exists": "CREATE TABLE IF NOT EXISTS b AS SELECT 7 AS n",
    "or-replace": "CREATE OR REPLACE TABLE a AS SELECT 7 AS n",
    "deep-clone": "CREATE TABLE b DEEP CLONE a",
    "optimize": "OPTIMIZE a",
    "drop": "DROP TABLE a",
}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        *(("insert", 30), ("ctas", 30), ("deep-clone", 30)),
        *(pytest.param(name, 1, marks=pytest.mark.slow) for name in BESIDE_DROP),
    ],
)
def test_statement_whose_files_another_one_deletes_fails_by_name(tmp_path, monkeypatch, name, step):
    nth = random.Random(name).randrange(step)
    while True:
        folder = tmp_path / str(nth)
        prepare(folder, name)
        with (
            monkeypatch.context() as patch,
            deltaarrow.connect(catalog=folder, dialect="spark") as con,
        ):
            calls = Calls(patch, nth, functools.partial(delete, folder / "default"), is_last=False)
            with contextlib.suppress(DeltaError):
                con.sql(BESIDE_DROP[name])
        if calls.left >= 0:
            break
        nth += step


def delete(namespace: Path) -> None:
    """Delete the folders of all tables, as those do who drop them."""
    for folder in [each for each in namespace.iterdir() if each.is_dir()]:
        shutil.rmtree(folder)


@STEPS
@pytest.mark.parametrize("name", ["ctas", "rename", "drop", "replace-view", "drop-schema"])
def test_statement_whose_call_fails_is_done_or_not(tmp_path, monkeypatch, name, step):
    """After the failure the process goes on, and cleans up."""
    nth = random.Random(name).randrange(min(step, 6))
    while True:
        folder = tmp_path / str(nth)
        before = prepare(folder, name)
        with monkeypatch.context() as patch:
            calls = Calls(patch, nth, OSError(errno.EIO, os.strerror(errno.EIO)), is_last=False)
            with contextlib.suppress(DeltaError, OSError):
                run(folder, name)
            if calls.left >= 0:
                break
        check(folder, name, before)
        nth += step


def test_folder_that_was_claimed_stays_with_its_table_under_another_name(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        patch.setattr(NewFolder, "release", lambda self: None)  # killed after the name is put
        con.sql("CREATE TABLE a AS SELECT 1 AS n")
    with deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        con.sql("ALTER TABLE a RENAME TO b; CREATE TABLE a AS SELECT 2 AS n; DROP TABLE a")
        con.sql("CREATE TABLE a AS SELECT 3 AS n")
        assert con.sql("SELECT * FROM a, b").fetchall() == [(3, 1)]


@pytest.fixture(params=["local", "memory"])
def root(request, tmp_path):
    """The folder of a catalog, on a disk and on an object store."""
    return str(tmp_path) if request.param == "local" else f"memory://{uuid.uuid4().hex}"


def put_foreign(root: str) -> DeltaTable:
    """Write a table into the folder that a catalog gives the first table ``a``."""
    write_deltalake(f"{root}/default/a", pa.table({"n": [5]}))
    return DeltaTable(f"{root}/default/a")


@pytest.mark.parametrize("create", ["CREATE", "CREATE OR REPLACE"])
def test_table_that_has_no_name_stays_where_a_name_is_given(root, create):
    foreign = put_foreign(root)
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.sql(f"{create} TABLE a AS SELECT 2 AS n")
        assert con.sql("SELECT n FROM a").fetchall() == [(2,)]
        con.sql("DROP TABLE a; DROP TABLE IF EXISTS a")
    assert foreign.history()[0]["version"] == 0
    assert foreign.to_pyarrow_table().to_pylist() == [{"n": 5}]


def test_files_that_were_there_stay_where_a_query_fails(root):
    store = open_store(root)
    store.put_if_absent("default/a/precious.csv", b"x")
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        for _ in range(2):
            with pytest.raises(ConstraintViolationError):
                con.sql("CREATE TABLE a AS SELECT raise_error('x') AS n FROM range(3)")
    assert [each.name for each in store.list_recursive()] == ["default/a/precious.csv"]


def test_table_that_comes_while_another_is_made_stays(root, monkeypatch):
    claim = FileNamespace.claim

    def claimed(*arguments):
        found = claim(*arguments)
        put_foreign(root)
        return found

    monkeypatch.setattr(FileNamespace, "claim", claimed)
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        for query in ("2", "raise_error('x')"):
            with pytest.raises(DeltaError):
                con.sql(f"CREATE TABLE a AS SELECT {query} AS n")
    assert DeltaTable(f"{root}/default/a").to_pyarrow_table().to_pylist() == [{"n": 5}]


def test_table_in_a_folder_that_a_killed_process_claimed_stays(root):
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.catalog.namespace("default").claim("a")
        foreign = put_foreign(root)
        con.sql("CREATE TABLE a AS SELECT 2 AS n; DROP TABLE a; CREATE TABLE a AS SELECT 3 AS n")
    assert foreign.to_pyarrow_table().to_pylist() == [{"n": 5}]
    assert open_store(root).list_from("default/a.new") == []


@pytest.mark.parametrize("text", ["DROP TABLE IF EXISTS a", "CREATE TABLE a AS SELECT 2 AS n"])
@pytest.mark.parametrize(("has_name", "is_copy"), [(False, False), (True, True)])
def test_table_in_the_folder_of_a_dropped_one_stays(root, text, has_name, is_copy):
    store = open_store(root)
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 5 AS n")
        files = {each.name: store.read(each.name) for each in store.list_recursive("default/a")}
        con.sql("DROP TABLE a")
        if is_copy:
            for name, data in files.items():
                store.write(name, data)
        else:
            put_foreign(root)
        if has_name:
            con.sql(f"CREATE TABLE b USING delta LOCATION '{root}/default/a'")
        con.sql(text)
    assert DeltaTable(f"{root}/default/a").to_pyarrow_table().to_pylist() == [{"n": 5}]


def test_files_of_a_writer_in_the_folder_of_a_dropped_table_stay(root):
    store = open_store(root)
    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n; DROP TABLE a")
        store.put_if_absent("default/a/part-0.parquet", b"x")
        con.sql("DROP TABLE IF EXISTS a; CREATE TABLE a AS SELECT 2 AS n; DROP TABLE a")
    assert store.exists("default/a/part-0.parquet")


def test_table_stays_that_replaces_another_while_that_is_dropped(root, monkeypatch):
    remove = FileNamespace.remove

    def removed(*arguments):
        remove(*arguments)
        DeltaTable(f"{root}/default/a").delete_table()
        put_foreign(root)

    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n")
        monkeypatch.setattr(FileNamespace, "remove", removed)
        with pytest.raises(TableNotFoundError, match="another table by now, which stays"):
            con.sql("DROP TABLE a")
    assert DeltaTable(f"{root}/default/a").to_pyarrow_table().to_pylist() == [{"n": 5}]


def test_table_goes_that_another_process_replaces_while_it_is_dropped(root, monkeypatch):
    remove = FileNamespace.remove

    def removed(*arguments):
        DeltaTable(f"{root}/default/a").delete("n = 1")
        with deltaarrow.connect(catalog=root, dialect="spark") as other:
            other.sql("CREATE OR REPLACE TABLE a AS SELECT 2 AS n")
        remove(*arguments)

    with deltaarrow.connect(catalog=root, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n")
        monkeypatch.setattr(FileNamespace, "remove", removed)
        con.sql("DROP TABLE a")
    assert not list(open_store(root).list_recursive("default/a"))


def test_files_at_a_location_stay_where_another_process_takes_the_name(root, monkeypatch):
    store = open_store(f"{root}/lake")
    store.put_if_absent("precious.csv", b"x")

    def is_second(*_):
        raise FileExistsError

    monkeypatch.setattr(FileNamespace, "add", is_second)
    with (
        deltaarrow.connect(catalog=f"{root}/names", dialect="spark") as con,
        pytest.raises(VersionExistsError),
    ):
        con.sql(f"CREATE TABLE a USING delta LOCATION '{root}/lake' AS SELECT 1 AS n")
    assert store.exists("precious.csv")


@pytest.mark.parametrize("is_first", [True, False])
def test_table_stays_where_another_path_leads_to_its_catalog(tmp_path, monkeypatch, is_first):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with deltaarrow.connect(catalog=tmp_path / "real", dialect="spark") as con:
        if not is_first:
            con.sql("CREATE TABLE a AS SELECT 0 AS n; DROP TABLE a")
        with monkeypatch.context() as patch:
            patch.setattr(NewFolder, "release", lambda self: None)  # killed after the name is put
            con.sql("CREATE TABLE a AS SELECT 1 AS n")
    with deltaarrow.connect(catalog=tmp_path / "link", dialect="spark") as con:
        con.sql("ALTER TABLE a RENAME TO b; CREATE TABLE a AS SELECT 2 AS n")
        assert con.sql("SELECT a.n, b.n FROM a, b").fetchall() == [(2, 1)]


BETWEEN = {
    "SELECT n + 1 AS n FROM a": [2],
    "INSERT INTO b SELECT n + 1 AS n FROM a": [1, 2],
    "MERGE INTO b USING a ON b.n = a.n WHEN MATCHED THEN UPDATE SET n = a.n + 1": [2],
}


@pytest.mark.parametrize("change", ["DROP TABLE a", "CREATE OR REPLACE TABLE a AS SELECT 1.5BD AS n"])
@pytest.mark.parametrize("text", BETWEEN)
def test_query_reads_the_table_that_it_was_compiled_for(tmp_path, monkeypatch, text, change):
    """Another process changes the table before the query is planned; a table that is gone is an error."""
    changes, planned = [change], DeltaConnection.planned

    def plan(connection, *arguments):
        if connection is con and changes:
            other.sql(changes.pop())
        return planned(connection, *arguments)

    with (
        deltaarrow.connect(catalog=tmp_path, dialect="spark") as con,
        deltaarrow.connect(catalog=tmp_path, dialect="spark") as other,
    ):
        con.sql("CREATE TABLE a AS SELECT 1 AS n; CREATE TABLE b AS SELECT 1 AS n")
        monkeypatch.setattr(DeltaConnection, "planned", plan)
        if "DROP" in change:
            with pytest.raises(CorruptDataFileError, match="in the log and not in storage"):
                con.sql(text)
            return
        found = con.sql(text)
        found = found if text.startswith("SELECT") else con.sql("SELECT n FROM b")
        assert sorted(found.fetchall()) == [(n,) for n in BETWEEN[text]]
        assert con.sql("SELECT n FROM a").fetchall() == [(Decimal("1.5"),)]


def work(folder: str, seed: int, seconds: float, results) -> None:
    """Run random statements about two names, and report the errors that are none of ours."""
    chosen, unknown = random.Random(seed), set()
    texts = (
        "CREATE TABLE IF NOT EXISTS {} AS SELECT 1 AS n",
        "CREATE OR REPLACE TABLE {} AS SELECT 1 AS n",
        "INSERT INTO {} VALUES (2)",
        "DROP TABLE {}",
        "DROP TABLE IF EXISTS {}",
        "ALTER TABLE {} RENAME TO {}",
        "SELECT * FROM {}",
        "UPDATE {} SET n = 2 WHERE n = 1",
        "MERGE INTO {} AS t USING {} AS s ON t.n = s.n WHEN MATCHED THEN UPDATE SET n = 1",
        "CREATE OR REPLACE TABLE {} SHALLOW CLONE {}",
        "SHOW TABLES",
    )
    end = time.monotonic() + seconds
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        while time.monotonic() < end:
            text = chosen.choice(texts).format(*chosen.sample(["a", "b"], 2))
            try:
                found = con.sql(text)
                if text.startswith("SELECT"):
                    found.fetchall()
            except DeltaError:
                continue
            except Exception as error:
                unknown.add(f"{text}: {type(error).__name__}: {error}")
    results.put(unknown)


@pytest.mark.parametrize("seconds", [0.6, pytest.param(30.0, marks=pytest.mark.slow)])
def test_names_stay_usable_where_others_change_them_at_once(tmp_path, seconds):
    """Every day by threads, which share no connection, and in the slow suite by processes."""
    context = multiprocessing.get_context("spawn")
    results, start = (queue.Queue(), threading.Thread) if seconds < 1 else (context.Queue(), context.Process)
    workers = [start(target=work, args=(str(tmp_path), seed, seconds, results)) for seed in range(3)]
    for worker in workers:
        worker.start()
    unknown = [results.get(timeout=seconds + 120) for _ in workers]
    for worker in workers:
        worker.join()
    assert unknown == [set()] * 3
    with deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        for name in con.sql("SHOW TABLES").column("tableName").to_pylist():
            assert {row[0] for row in con.sql(f"SELECT n FROM {name}").fetchall()} <= {1, 2}
        for name in ("a", "b"):
            con.sql(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} AS SELECT 3 AS n")
            assert con.sql(f"SELECT n FROM {name}").fetchall() == [(3,)]
        con.sql("DROP TABLE a; DROP TABLE b; DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b")
        assert con.sql("SHOW TABLES").num_rows == 0


def test_drop_of_a_link_leaves_what_is_behind_it(tmp_path):
    write_deltalake(tmp_path / "real", pa.table({"n": [1]}))
    with deltaarrow.connect(catalog=tmp_path / "names", dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n")
        own = tmp_path / "names" / "default" / "a"
        own.rename(tmp_path / "kept")
        own.symlink_to(tmp_path / "real")
        con.attach(tmp_path / "lake", "lake")
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "b").symlink_to(tmp_path / "real")
        con.sql("DROP TABLE a; DROP TABLE lake.b")
        assert con.sql("SHOW TABLES").num_rows == con.sql("SHOW TABLES IN lake").num_rows == 0
    assert not os.path.lexists(own)
    assert not os.path.lexists(tmp_path / "lake" / "b")
    assert DeltaTable(tmp_path / "real").count() == 1


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_checksum_alone_is_no_table(tmp_path, dialect):
    """A writer has put it after the table was dropped."""
    with deltaarrow.connect(dialect=dialect) as con:
        con.attach(tmp_path, "lake")
        con.sql("CREATE TABLE lake.a (n INT)")
        late = tmp_path / "a" / "_delta_log" / f"{1:020d}.crc"
        write_deltalake(tmp_path / "a", pa.table({"n": pa.array([1], pa.int32())}), mode="append")
        content = late.read_bytes()
        for text in ("CREATE TABLE lake.a (s STRING)", "DROP TABLE IF EXISTS lake.a"):
            con.sql("DROP TABLE lake.a")
            late.parent.mkdir(parents=True)
            late.write_bytes(content)
            con.sql(text)
            con.sql("CREATE TABLE IF NOT EXISTS lake.a (s STRING)")
            assert not late.exists()
        con.sql("INSERT INTO lake.a VALUES ('x')")
        assert con.sql("SELECT s FROM lake.a").fetchall() == [("x",)]


def test_catalog_of_an_older_release_is_read_and_changed(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"n": [1]}))
    (tmp_path / "names" / "shop").mkdir(parents=True)
    (tmp_path / "names" / "shop.namespace.json").write_text("{}")
    (tmp_path / "names" / "shop" / "a.json").write_text(
        json.dumps({"location": str(tmp_path / "t"), "managed": False})
    )
    with deltaarrow.connect(catalog=tmp_path / "names", dialect="spark") as con:
        assert con.sql("SELECT n FROM shop.a").fetchall() == [(1,)]
        con.sql("ALTER TABLE shop.a RENAME TO shop.b; CREATE TABLE shop.a AS SELECT 2 AS n")
        assert con.sql("SELECT a.n, b.n FROM shop.a, shop.b").fetchall() == [(2, 1)]
        con.sql("DROP SCHEMA shop CASCADE; CREATE SCHEMA shop")
        assert con.sql("SHOW TABLES IN shop").num_rows == 0
    assert DeltaTable(tmp_path / "t").count() == 1


def test_managed_table_is_renamed_and_its_old_name_is_free(tmp_path):
    with deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        con.sql("CREATE TABLE a AS SELECT 1 AS n; CREATE SCHEMA s; CREATE TABLE taken (n INT)")
        con.sql("CREATE VIEW default.v AS SELECT 1 AS n", dialect="duckdb")
        for name in ("taken", "v", "a"):
            with pytest.raises(VersionExistsError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
                con.sql(f"ALTER TABLE a RENAME TO {name}")
        with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
            con.sql("ALTER TABLE nothing RENAME TO b")
        with pytest.raises(UnsupportedFeatureError, match="a table by its path has none"):
            con.sql(f"ALTER TABLE delta.`{tmp_path}/x` RENAME TO u")
        con.sql("ALTER TABLE a RENAME TO b; INSERT INTO b VALUES (2); CREATE TABLE a AS SELECT 3 AS n")
        con.sql("ALTER TABLE b RENAME TO s.c; DROP TABLE a")
        assert sorted(con.sql("SELECT n FROM s.c").fetchall()) == [(1,), (2,)]
        con.sql("DROP TABLE s.c")
    assert left_over(tmp_path) == set()


def test_deep_json_in_a_file_of_a_catalog_is_refused(tmp_path):
    with deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        con.sql("CREATE TABLE a (n INT)")
        (tmp_path / "default" / "a.json").write_text("[" * 100_000)
        (tmp_path / "default" / "v.view.json").write_text('{"a":' * 100_000)
        for name in ("a", "v"):
            with pytest.raises(DeltaError, match="damaged"):
                con.sql(f"SELECT * FROM {name}")


def run_until_killed(folder: str, name: str, nth: int) -> None:
    """Run a statement in this process, which kills itself before the n-th call that changes files."""
    calls = ("open", "fsync", "link", "replace", "mkdir", "unlink")
    left = itertools.count(-nth)

    def killing(call):
        def guarded(*arguments, **options):
            if next(left) >= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return guarded

    for each in calls:
        setattr(os, each, killing(getattr(os, each)))
    run(Path(folder), name)


@pytest.mark.parametrize("count", [1, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["ctas", "rename", "drop"])
def test_process_that_is_killed_leaves_the_old_name_or_the_new_one(tmp_path, name, count):
    context = multiprocessing.get_context("spawn")
    for nth in random.Random(name).sample(range(60), count):
        folder = tmp_path / str(nth)
        before = prepare(folder, name)
        process = context.Process(target=run_until_killed, args=(str(folder), name, nth))
        process.start()
        process.join(120)
        assert process.exitcode in (0, -signal.SIGKILL)
        check(folder, name, before)
