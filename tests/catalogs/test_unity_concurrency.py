"""Several clients on one managed table of Unity Catalog: nothing is lost, nothing is doubled."""

import itertools
import json
import os
import random
import subprocess
import sys
import threading

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.errors import CommitFailedError
from tests.support.unity_server import TOKEN

pytestmark = pytest.mark.feature("catalogManaged")

NAME = "shop.orders"

DYING = """
import os, sys
import pyarrow as pa
from deltaarrow import write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.log import CatalogStore

step, url, token = sys.argv[1:]

def die(*_):
    os._exit(9)

if step == "publish":
    CatalogStore.publish = die
elif step == "note":
    from deltaarrow.catalogs.unity.table import UnityTable
    UnityTable.note_published = die
else:
    from deltaarrow.catalogs.unity.table import UnityTable
    UnityTable.ratify = die
catalog = UnityCatalog(url, "main", token)
write_deltalake("shop.orders", pa.table({"id": [100]}), mode="append", catalog=catalog)
"""


@pytest.fixture
def unity(server, tmp_path):
    server.reset(tmp_path)
    write_deltalake(NAME, pa.table({"id": [0]}), catalog=client(server))
    yield server
    assert server.violations == []


def client(unity, **more):
    return UnityCatalog(unity.url, "main", TOKEN, retry_delay=0.001, **more)


def ids(unity):
    return sorted(DeltaTable(NAME, catalog=client(unity)).to_pyarrow_table().column("id").to_pylist())


def append(unity, number):
    rows = pa.table({"id": [number]})
    return write_deltalake(NAME, rows, mode="append", catalog=client(unity)).version


def published(unity):
    log = unity.hosted(NAME).path / "_delta_log"
    return sorted(int(each.name[:20]) for each in log.glob("*.json") if len(each.name) == 25)


def ensure_consistent(unity):
    """Every version is published once, as one staged file, with times that grow."""
    table = unity.hosted(NAME)
    log = table.path / "_delta_log"
    assert published(unity) == list(range(table.latest + 1))
    assert (table.published, table.commits) == (table.latest, {})
    infos = [
        json.loads((log / f"{version:020d}.json").read_text().splitlines()[0])["commitInfo"]
        for version in range(table.latest + 1)
    ]
    times = [each["inCommitTimestamp"] for each in infos]
    assert all(earlier < later for earlier, later in itertools.pairwise(times))
    assert len({each["txnId"] for each in infos}) == len(infos)
    staged = [int(each.name[:20]) for each in (log / "_staged_commits").iterdir()]
    assert sorted(staged) == list(range(1, table.latest + 1))
    assert DeltaTable(NAME, catalog=client(unity)).verify(deep=True).ok


def in_threads(*works):
    failures = []

    def run(work):
        try:
            work()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def write_at_once(unity, writers, commits):
    def writer(first):
        table = DeltaTable(NAME, catalog=client(unity))
        for number in range(commits):
            write_deltalake(table, pa.table({"id": [first + number]}), mode="append")

    in_threads(*(lambda first=1 + commits * each: writer(first) for each in range(writers)))
    unity.fault, unity.lost = lambda path: None, lambda path, body: None
    append(unity, writers * commits + 1)  # publishes and notes what is left
    assert ids(unity) == list(range(writers * commits + 2))
    assert unity.hosted(NAME).latest == writers * commits + 1
    ensure_consistent(unity)


def with_faults(unity, seed, share):
    """Lose some answers to changes that were made, and refuse some requests before anything is done."""
    chance, lock = random.Random(seed), threading.Lock()

    def falls(kind):
        def answer(path, *_):
            with lock:
                return kind if chance.random() < share else None

        return answer

    unity.lost = falls((500, {}))
    unity.fault = falls((503, {}))


def test_appends_at_once_all_arrive(unity):
    write_at_once(unity, 3, 4)


def test_appends_at_once_all_arrive_although_answers_are_lost(unity):
    with_faults(unity, 7, 0.1)
    unity.most_unpublished = 3
    write_at_once(unity, 2, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_appends_at_once_all_arrive_although_answers_are_lost(unity, seed):
    with_faults(unity, seed, 0.1)
    unity.most_unpublished = 5
    write_at_once(unity, 8, 12)


def test_of_two_deletions_of_one_row_one_is_a_conflict_and_other_rows_are_none(unity):
    for number in (1, 2, 3):
        append(unity, number)
    first, second, third = (DeltaTable(NAME, catalog=client(unity)) for _ in range(3))
    first.delete("id = 1")
    second.delete("id = 2")
    with pytest.raises(CommitFailedError):
        third.delete("id = 1")
    assert ids(unity) == [0, 3]
    ensure_consistent(unity)


@pytest.mark.parametrize("is_full", [False, True], ids=["listed", "full"])
@pytest.mark.parametrize("retention", [0, 168])
def test_vacuum_leaves_what_a_killed_client_has_not_published(unity, retention, is_full):
    """The client is killed between the catalog's answer and the publication."""
    table = unity.hosted(NAME)
    unneeded = table.path / "part-00000-unneeded.parquet"
    unneeded.write_bytes(b"")
    done = subprocess.run([sys.executable, "-c", DYING, "publish", unity.url, TOKEN], check=False)
    assert done.returncode == 9
    for file in table.path.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    kept = {each for each in table.path.rglob("*") if each.is_file()} - {unneeded}
    staged = [each for each in kept if each.parent.name == "_staged_commits"]
    named = {
        json.loads(line)["add"]["path"] for line in staged[0].read_text().splitlines() if '"add"' in line
    }
    assert len(staged) == len(named) == 1
    assert table.path / named.pop() in kept
    maintained = DeltaTable(NAME, catalog=client(unity, allows_maintenance=True))
    deleted = maintained.vacuum(retention, dry_run=False, enforce_retention_duration=False, full=is_full)
    assert deleted == [unneeded.name] * is_full
    assert [each for each in kept if not each.exists()] == []
    assert ids(unity) == [0, 100]
    append(unity, 5)
    assert ids(unity) == [0, 5, 100]
    ensure_consistent(unity)


@pytest.mark.parametrize(
    ("step", "is_made"),
    [("ratify", False), ("publish", True), pytest.param("note", True, marks=pytest.mark.slow)],
)
def test_what_a_killed_client_leaves_is_finished_by_the_next(unity, step, is_made):
    table = unity.hosted(NAME)
    done = subprocess.run([sys.executable, "-c", DYING, step, unity.url, TOKEN], check=False)
    assert done.returncode == 9
    assert len(list((table.path / "_delta_log" / "_staged_commits").iterdir())) == 1
    assert published(unity) == ([0, 1] if step == "note" else [0])
    assert ids(unity) == ([0, 100] if is_made else [0])
    assert append(unity, 5) == (2 if is_made else 1)
    assert ids(unity) == ([0, 5, 100] if is_made else [0, 5])
    assert published(unity) == list(range(3 if is_made else 2))
    assert table.published == table.latest
