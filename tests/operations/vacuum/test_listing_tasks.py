"""A full VACUUM whose folders are listed by tasks elsewhere finds what one process finds."""

import json
import os
import random
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptLogError
from deltaarrow.runtime.executors import using
from tests.support.distributed import TwiceExecutor
from tests.support.stores import FEW_WRITABLE, Place, cloud, place, s3_options, servers, writable_place
from tests.support.tables import TableBuilder
from tests.support.vacuum import DAY_MS, overwrite, put, stored, vacuum

__all__ = ["cloud", "place", "s3_options", "servers", "writable_place"]

PARTITIONS = 20


def elsewhere(table, hours=0.0, *, parts=2, **options):
    """What a VACUUM deletes whose folders are listed by tasks, each run twice; and how many tasks."""
    executor = TwiceExecutor(parts)
    with using(executor):
        found = vacuum(table, hours, full=True, listed_here=0, **options)
    return found, executor.runs


@pytest.fixture(scope="module")
def shared_table(tmp_path_factory):
    """Partitions, deletion vectors, change data, hidden folders, another table, links and empty folders."""
    root = tmp_path_factory.mktemp("listing") / "table"
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    rows = pa.table({"id": range(60), "p": [id % PARTITIONS for id in range(60)]})
    write_deltalake(root, rows, partition_by=["p"], configuration=settings)
    table = DeltaTable(root)
    table.delete("id = 7 OR id = 21")
    table.delete("id = 27 OR id = 41")
    table.update({"id": "id + 1000"}, predicate="p IN (4, 5)")
    table.delete("p = 19")
    overwrite(root / "p=2" / "inner", 1)
    overwrite(root / "p=2" / "inner", 2)
    put(root, "p=2/inner/old", "p=2/inner/deep/old", "p=2/_hidden/f", "p=6/.x/f", "p=6/_f", "_hidden/f")
    put(root, "p=7/stray", "p=8/deep/er/stray", "stray", "metadata/m", f"p=9/.{'0af' * 10}12.tmp")
    put(root, "p=10/young", days=-1)
    put(root, "p=11/a/b/", "p=11/a/c/", "p=11/d/_keep/", "empty/", "x/y/z/")
    (root / "p=12" / "folder").symlink_to(root / "p=13")
    (root / "p=12" / "broken").symlink_to(root / "nothing")
    (root / "p=12" / "file").symlink_to(root / "p=7" / "stray")
    os.utime(root / "p=12" / "broken", (0, 0), follow_symlinks=False)
    return root


def files_and_folders(root):
    found = [os.path.join(at, name) for at, folders, files in os.walk(root) for name in [*folders, *files]]
    return {os.path.relpath(path, root) for path in found}


def outcome(path, run):
    """What VACUUM said, did and committed."""
    table = DeltaTable(path)
    before = table.version()
    said = run(path)
    left = {name for name in files_and_folders(path) if not name.startswith("_delta_log/")}
    history = [
        (each["operation"], each["operationParameters"], each["operationMetrics"])
        for each in DeltaTable(path).history(DeltaTable(path).version() - before)
    ]
    return said, left, history


@pytest.mark.parametrize("hours", [0.0, None])
def test_tasks_delete_commit_and_leave_what_one_process_does(shared_table, tmp_path, hours):
    for name in ("here", "there"):
        shutil.copytree(shared_table, tmp_path / name, symlinks=True)
    options = {"dry_run": False, "later_ms": 1000 if hours == 0.0 else 8 * DAY_MS}
    here = outcome(tmp_path / "here", lambda path: vacuum(path, hours, full=True, **options))
    runs = []

    def run(path):
        found, number = elsewhere(path, hours, **options)
        runs.append(number)
        return found

    there = outcome(tmp_path / "there", run)
    assert there == here
    assert runs[0] > 5
    assert {"p=7/stray", "p=8/deep/er/stray", "stray", "metadata/m", "p=12/broken"} < {*here[0]}
    assert any(name.startswith("_change_data/p=4/") for name in here[0])
    assert any(name.endswith(".bin") for name in here[0])
    assert {"p=2/inner/old", "p=2/_hidden/f", "p=12/folder", "p=11/d/_keep"} < here[1]
    assert not {"empty", "x", "p=11/a"} & here[1]
    assert DeltaTable(tmp_path / "there").verify(deep=True).ok


def test_a_table_of_few_files_and_a_report_are_listed_by_this_process(shared_table):
    executor = TwiceExecutor()
    with using(executor):
        found = vacuum(shared_table, 0, full=True)
        report = DeltaTable(shared_table).vacuum_report(0, full=True, enforce_retention_duration=False)
    assert executor.runs == 0
    assert len(found) > 5 and report.num_rows > 60


def test_one_part_is_listed_by_this_process(shared_table):
    assert elsewhere(shared_table, parts=1000) == (vacuum(shared_table, 0, full=True), 0)


@pytest.mark.parametrize("of_folder", [True, False])
def test_what_a_live_name_leads_to_in_a_folder_of_another_task_stays(tmp_path, of_folder):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    add = table.add_file(pa.table({"id": [1]}), name="real/f.parquet")
    os.utime(tmp_path / "real" / "f.parquet", (0, 0))
    put(tmp_path, *(f"f{number}/stray" for number in range(20)))
    if of_folder:
        (tmp_path / "f3" / "link").symlink_to(tmp_path / "real")
    else:
        put(tmp_path, "f3/link/")
        (tmp_path / "f3" / "link" / "f.parquet").symlink_to(tmp_path / "real" / "f.parquet")
    table.commit([{"add": add["add"] | {"path": "f3/link/f.parquet"}}])
    put(tmp_path, "real/stray")
    found, runs = elsewhere(tmp_path, dry_run=False)
    assert found == sorted([*(f"f{number}/stray" for number in range(20)), "real/stray"])
    assert runs > 5
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 1


BASES = (
    "a",
    "b",
    "c",
    "p=1",
    "p=2 x",
    "é%",
    "_h",
    ".x",
    "_delta_log",
    "_change_data",
    "d",
    "e",
    "f",
    "g",
    "h",
)


def random_table(root, seed):
    """A tree of folders with files and links, of which a log names some, spelled in odd ways."""
    chance = random.Random(seed)
    table = TableBuilder(root).protocol().metadata(pa.schema([("id", pa.int64())]))
    folders = [""]
    for _ in range(chance.choice((5, 40, 90))):
        folder = f"{chance.choice(folders[-20:])}/{chance.choice(BASES)}".lstrip("/")
        if folder.partition("/")[0] != "_delta_log" and not (root / folder).exists():
            put(root, f"{folder}/")
            folders.append(folder)
    names = [f"{chance.choice(folders)}/{number}".lstrip("/") for number in range(100)]
    put(root, *names)
    for number in range(6):
        (root / chance.choice(folders) / f"link{number}").symlink_to(root / chance.choice([*names, *folders]))
    for folder in folders:
        os.utime(root / folder, (0, 0))
    adds = []
    for name in chance.sample(names, 30):
        spelled = chance.choice((name, name, f"file:{root}/{name}", f"a/../{name}", f"./{name}"))
        adds.append({"path": spelled.replace("%", "%25").replace(" ", "%20")})
    links = [os.path.relpath(path, root) for path in root.rglob("link*") if path.is_file()]
    adds += [{"path": name.replace("%", "%25").replace(" ", "%20")} for name in links[:2]]
    adds.append({"path": "a/gone/f.parquet"})
    common = {"partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    table.commit([{"add": each | common} for each in {each["path"]: each for each in adds}.values()])
    return root


@pytest.mark.parametrize("seed", range(8))
def test_random_folders_are_the_same_to_tasks_and_to_one_process(tmp_path, seed):
    root, copy = random_table(tmp_path / "table", seed), tmp_path / "copy"
    shutil.copytree(root, copy, symlinks=True)
    here = outcome(root, lambda path: vacuum(path, 0, full=True, dry_run=False))
    # Absolute names and links lead to the same place again.
    shutil.rmtree(root)
    copy.rename(root)
    assert outcome(root, lambda path: elsewhere(path, dry_run=False)[0]) == here


@FEW_WRITABLE
def test_objects_are_listed_by_tasks_too(writable_place: Place):
    store = writable_place.store
    rows = pa.table({"id": range(60), "p": [id % PARTITIONS for id in range(60)]})
    write_deltalake(store.uri, rows, partition_by=["p"], storage_options=store.storage_options)
    strays = ["stray", "p=3/stray", "p=3/deep/er/stray", "q/a b%20/é"]
    for name in [*strays, "p=3/_hidden/f", "p=4/inner/f", "p=4/inner/_delta_log/0.json", "_x/f"]:
        writable_place.put(name, b"x")
    found, runs = elsewhere(store, later_ms=5000)
    assert found == sorted(strays) == vacuum(store, 0, full=True, later_ms=5000)
    assert runs > 5


@pytest.mark.parametrize("writable_place", ["s3"], indirect=True)
@pytest.mark.parametrize(("folders", "is_divided"), [(30, True), (3, False)])
def test_objects_whose_names_have_empty_parts_are_found(writable_place: Place, folders, is_divided):
    """Tasks find them below their folders; a folder without a name is no task's."""
    store = writable_place.store
    write_deltalake(store.uri, pa.table({"id": [1]}), storage_options=store.storage_options)
    strays = [f"p={number}//stray" for number in range(folders)]
    for name in strays:
        writable_place.put(name, b"x")
    found, runs = elsewhere(store, later_ms=5000)
    assert found == sorted(strays) == vacuum(store, 0, full=True, later_ms=5000)
    assert (runs > 0) == is_divided


def test_a_log_that_is_not_whole_deletes_nothing(shared_table, tmp_path):
    table = tmp_path / "table"
    shutil.copytree(shared_table, table, symlinks=True)
    DeltaTable(table).create_checkpoint()
    checksum = max((table / "_delta_log").glob("*.crc"))
    said = json.loads(checksum.read_bytes())
    kept = ("tableSizeBytes", "numMetadata", "numProtocol", "metadata", "protocol")
    told = {name: said[name] for name in kept} | {"numFiles": said["numFiles"] + 1}
    checksum.write_text(json.dumps(told))
    before = stored(table)
    with pytest.raises(CorruptLogError, match="files, but there are"):
        elsewhere(table, dry_run=False)
    assert stored(table) == before
