"""The local store: remains of a crash, durability, and permissions."""

import errno
import os
import shutil
import stat
import subprocess
import sys

import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import LocalStore


@pytest.fixture
def store(tmp_path) -> LocalStore:
    return LocalStore(str(tmp_path / "t"))


def files(store: LocalStore) -> list[str]:
    return sorted(name for _, _, names in os.walk(store.uri) for name in names)


def test_a_relative_root_is_made_absolute_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = LocalStore("a/../t/")
    monkeypatch.chdir("/")
    assert store.uri == str(tmp_path / "t")


@pytest.mark.parametrize("call", ["link", "fsync", "write"])
def test_a_failure_half_way_leaves_nothing(store, monkeypatch, call) -> None:
    store.put_if_absent("d/0", b"zero")

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "no space left on the device")

    if call == "write":
        real = os.fdopen

        class Full:
            write = fail

            def __init__(self, *args):
                self._file = real(*args)

            def __getattr__(self, name):
                return getattr(self._file, name)

        monkeypatch.setattr(os, "fdopen", Full)
    else:
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="no space left"):
        store.put_if_absent("d/1", b"one")
    monkeypatch.undo()
    assert files(store) == ["0"]
    store.put_if_absent("d/1", b"one")


def test_a_failed_replacement_leaves_the_old_file(store, monkeypatch) -> None:
    store.write("f", b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        store.write("f", b"new")
    assert store.read("f") == b"old"
    assert files(store) == ["f"]


def test_a_process_killed_half_way_leaves_no_file_of_the_log(store) -> None:
    program = (
        "import os, sys; from deltaarrow.storage import LocalStore\n"
        "os.link = lambda *_: os._exit(9)\n"
        "LocalStore(sys.argv[1]).put_if_absent('_delta_log/0.json', b'{}')"
    )
    assert subprocess.run([sys.executable, "-c", program, store.uri], check=False).returncode == 9
    [left] = files(store)
    assert left.startswith(".")
    assert left.endswith(".tmp")
    assert store.list_from("_delta_log", "0") == []
    store.put_if_absent("_delta_log/0.json", b"{}")


def test_a_commit_is_flushed_before_it_is_linked_and_its_folder_after(store, monkeypatch) -> None:
    store.put_if_absent("d/0", b"")
    events = []

    def record(name):
        real = getattr(os, name)

        def call(*args, **kwargs):
            events.append(
                "fsync folder" if name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode) else name
            )
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "link", "unlink"):
        record(name)
    store.put_if_absent("d/1", b"1")
    assert events[:4] == ["fsync", "link", "fsync folder", "unlink"]


def test_new_folders_are_flushed(store, monkeypatch) -> None:
    flushed = []
    real = os.fsync

    def fsync(descriptor):
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc to tell which folder is flushed")
    monkeypatch.setattr(os, "fsync", fsync)
    store.put_if_absent("a/b/f", b"")
    parent = os.path.dirname(store.uri)
    assert flushed[:3] == [parent, store.uri, f"{store.uri}/a"]
    assert flushed[-1] == f"{store.uri}/a/b"


def test_many_files_are_flushed_by_those_who_wrote_them_and_each_folder_once(store, monkeypatch) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc to tell which folder is flushed")
    os.makedirs(store.uri)
    flushed = []
    real = os.fsync

    def fsync(descriptor):
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    outputs = []
    os.mkdir(f"{store.uri}/p=0")  # by another writer, who has not flushed the folder above it
    for number in range(40):
        with store.open_output(f"p={number % 20}/{number}", durable=False) as output:
            output.write(b"rows")
        outputs.append(output)
    assert flushed == []
    assert len(files(store)) == 40
    store.sync(outputs)
    assert all(path.endswith(".tmp (deleted)") for path in flushed[:40])
    assert sorted(flushed[40:]) == sorted([store.uri, *(f"{store.uri}/p={each}" for each in range(20))])
    store.sync(outputs[:1])
    assert sorted(flushed[61:]) == [store.uri, f"{store.uri}/p=0"]


def test_a_large_file_is_flushed_as_it_closes_and_a_failure_to_flush_is_raised(store, monkeypatch) -> None:
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    with store.open_output("large", durable=False) as output:
        output.write(bytes(8 << 20))
    assert len(flushed) == 1
    with store.open_output("small", durable=False) as small:
        small.write(b"rows")

    def fail(descriptor):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="broken"):
        store.sync([small])
    small.discard()
    assert files(store) == ["large", "small"]


def test_a_link_that_worked_though_it_reported_the_name_as_taken_is_a_commit(store, monkeypatch) -> None:
    real = os.link

    def link(source, target):
        real(source, target)
        raise FileExistsError(errno.EEXIST, "exists")

    monkeypatch.setattr(os, "link", link)
    store.put_if_absent("0.json", b"mine")
    assert store.read("0.json") == b"mine"
    with pytest.raises(FileExistsError):
        store.put_if_absent("0.json", b"mine")


def test_without_hard_links_a_commit_is_refused(store, monkeypatch) -> None:
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "not permitted")))
    with pytest.raises(StorageError, match="no hard links"):
        store.put_if_absent("0.json", b"")
    assert files(store) == []


def test_a_folder_that_cannot_be_flushed_is_reported(store, monkeypatch) -> None:
    store.put_if_absent("d/0", b"")
    real = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, "no")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    code = errno.EIO
    with pytest.raises(StorageError, match="may not survive"):
        store.put_if_absent("d/1", b"")
    code = errno.EINVAL
    store.put_if_absent("d/2", b"")
    assert files(store) == ["0", "1", "2"]


def test_a_file_in_the_way_of_a_folder_does_not_read_as_a_lost_commit(store) -> None:
    store.write("_delta_log", b"a file")
    with pytest.raises(StorageError, match="a file is in the place of a folder above it"):
        store.put_if_absent("_delta_log/0.json", b"")


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_read(store, umask, mode) -> None:
    before = os.umask(umask)
    try:
        store.put_if_absent("a", b"")
        store.write("b", b"")
        store.open_output("c").close()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(os.stat(store.location(name)).st_mode) for name in "abc"} == {mode}


def test_a_folder_that_may_not_be_read_is_an_error(store, monkeypatch) -> None:
    def denied(path):
        raise PermissionError(errno.EACCES, "denied", path)

    monkeypatch.setattr(os, "listdir", denied)
    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(StorageError, match="Permission denied"):
        store.list_from("_delta_log")
    with pytest.raises(StorageError, match="Permission denied"):
        list(store.list_recursive())


def test_a_file_that_goes_during_a_listing_is_not_in_it(store, monkeypatch) -> None:
    for name in "abc":
        store.write(f"d/{name}", b"")
    real = os.listdir

    def listdir(path):
        names = real(path)
        os.unlink(f"{store.uri}/d/b")
        return names

    monkeypatch.setattr(os, "listdir", listdir)
    assert [entry.name for entry in store.list_from("d")] == ["d/a", "d/c"]


def test_links_to_files_are_files_and_links_to_folders_are_not_followed(store, tmp_path) -> None:
    store.write("f", b"12")
    os.symlink(store.location("f"), store.location("link"))
    os.symlink("nowhere", store.location("broken"))
    os.symlink(store.uri, store.location("loop"))
    assert [(entry.name, entry.size) for entry in store.list_from("")] == [("f", 2), ("link", 2)]
    assert sorted(entry.name for entry in store.list_recursive()) == ["f", "link"]


def test_the_root_of_the_file_system(tmp_path) -> None:
    store = LocalStore("/")
    (tmp_path / "f").write_bytes(b"1")
    assert store.location("a/b") == "/a/b"
    assert store.read(str(tmp_path / "f")[1:]) == b"1"
    assert [entry.name for entry in store.list_from(str(tmp_path))] == [str(tmp_path / "f")]


def test_local_tables_load_neither_fsspec_nor_duckdb(tmp_path) -> None:
    program = (
        "import sys; from deltaarrow.storage import open_store; import deltaarrow.compute\n"
        "store = open_store(sys.argv[1]); store.put_if_absent('a', b'')\n"
        "store.list_from(''); store.read('a')\n"
        "print([name for name in ('fsspec', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


OPERATIONS = {
    "put_if_absent": lambda store: store.put_if_absent("new/1", b"x"),
    "write": lambda store: store.write("new/1", b"x"),
    "open_output": lambda store: store.open_output("new/1").close(),
    "read": lambda store: store.read("d/0"),
    "read_range": lambda store: store.read_range("d/0", 0, 1),
    "size": lambda store: store.size("d/0"),
    "exists": lambda store: store.exists("d/0"),
    "statuses": lambda store: store.statuses(["d/0"]),
    "list_from": lambda store: store.list_from("d"),
    "list_recursive": lambda store: list(store.list_recursive()),
    "list_folder": lambda store: store.list_folder("d"),
    "delete": lambda store: store.delete("d/0"),
    "delete_folder": lambda store: store.delete_folder("empty"),
}
CALLS = (
    "open",
    "mkdir",
    "link",
    "replace",
    "fsync",
    "fstat",
    "stat",
    "lstat",
    "listdir",
    "scandir",
    "read",
    "unlink",
    "rmdir",
)


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EIO, errno.ENOSPC, errno.EMFILE], ids=errno.errorcode.get
)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_whatever_the_system_refuses_is_a_storage_error(store, monkeypatch, operation, number) -> None:
    failures = 0
    for call in CALLS:
        for nth in range(4):
            store.write("d/0", b"zero")
            os.makedirs(f"{store.uri}/empty", exist_ok=True)
            shutil.rmtree(f"{store.uri}/new", ignore_errors=True)
            with monkeypatch.context() as patch:
                refused = iter([*[None] * nth, OSError(number, os.strerror(number))])
                patch.setattr(os, call, _refusing(getattr(os, call), refused))
                try:
                    operation(store)
                except StorageError:
                    failures += 1
    assert failures


def _refusing(call, errors):
    def guarded(*arguments, **options):
        error = next(errors, None)
        if error is not None:
            raise error
        return call(*arguments, **options)

    return guarded
