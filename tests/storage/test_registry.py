"""Locations of tables that users may give."""

import os
import pickle
import re
import sys
from pathlib import Path

import pytest

from deltaarrow.errors import MissingDependencyError, StorageError
from deltaarrow.storage import FsspecStore, LocalStore, open_store


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/data/t", "/data/t"),
        ("/data/t/", "/data/t"),
        ("/data//x/../t", "/data/t"),
        ("/data/100%25", "/data/100%25"),
        ("file:/data/my%20t", "/data/my t"),
        ("file:///data/my%20t/", "/data/my t"),
        ("file://localhost/data/t", "/data/t"),
        (Path("/data/t"), "/data/t"),
        (Path("/data/100%25"), "/data/100%25"),
    ],
)
def test_local_places(uri: str | Path, root: str) -> None:
    store = open_store(uri)
    assert isinstance(store, LocalStore)
    assert store.is_local
    assert store.can_put_if_absent
    assert store.uri == root


def test_a_relative_place_is_taken_from_the_current_folder() -> None:
    assert open_store("t").uri == os.path.join(os.getcwd(), "t")
    assert open_store(Path("t")).uri == os.path.join(os.getcwd(), "t")


def test_a_tilde_in_front_is_the_home_folder() -> None:
    assert open_store("./~/t").uri == os.path.join(os.getcwd(), "~", "t")
    assert open_store("~/t").uri == str(Path.home() / "t")


@pytest.mark.parametrize(
    ("uri", "root", "path"),
    [
        ("s3://bucket/t/", "s3://bucket/t", "bucket/t/f"),
        ("s3a://bucket/t", "s3://bucket/t", "bucket/t/f"),
        ("S3N://bucket/t", "s3://bucket/t", "bucket/t/f"),
        ("s3://bucket", "s3://bucket", "bucket/f"),
        ("memory://x/t", "memory://x/t", "/x/t/f"),
        ("memory:///x/t/", "memory://x/t", "/x/t/f"),
    ],
)
def test_other_places(uri: str, root: str, path: str) -> None:
    store = open_store(uri)
    assert isinstance(store, FsspecStore)
    assert not store.is_local
    assert store.uri == root
    assert store.location("f") == f"{root}/f"
    assert store.arrow_path("f") == path


def test_s3a_names_a_file_of_s3() -> None:
    assert open_store("s3://bucket/t").location("s3a://other/f") == "s3://other/f"


def test_a_local_path_is_not_on_s3() -> None:
    with pytest.raises(StorageError, match="another file system"):
        open_store("s3://bucket/t").read("/t/f")


def test_a_name_that_s3fs_would_cut_is_refused() -> None:
    with pytest.raises(StorageError, match="versionId"):
        open_store("s3://bucket/t").read("f?versionId=1")


@pytest.mark.parametrize(
    "uri",
    ["", "a\0b", "s3://", "s3:///", "memory://", "nosuch://x/t", "simplecache::s3://b/t", "file://host/t"],
)
def test_a_place_that_is_not_understood(uri: str) -> None:
    with pytest.raises(StorageError):
        open_store(uri)


def test_a_place_in_bytes_is_refused() -> None:
    class Bytes(os.PathLike):
        def __fspath__(self):
            return b"/t"

    with pytest.raises(TypeError, match="text"):
        open_store(Bytes())


@pytest.mark.parametrize(
    ("uri", "library", "extra"),
    [
        ("s3://bucket/t", "s3fs", "s3"),
        ("gs://bucket/t", "gcsfs", "gcs"),
        ("abfss://container@account.dfs.core.windows.net/t", "adlfs", "azure"),
        ("hf://datasets/owner/name/t", "huggingface_hub", "hf"),
    ],
)
def test_a_library_that_is_missing_is_named_with_the_command_that_brings_it(
    uri, library, extra, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"{library}.core", raising=False)
    with pytest.raises(MissingDependencyError, match=rf"{library} .*pip install 'deltaarrow\[{extra}\]'"):
        open_store(uri)


def test_a_library_of_the_system_that_is_missing_is_a_storage_error(monkeypatch) -> None:
    def fail(*_arguments, **_options):
        raise OSError("Unable to load libjvm")

    monkeypatch.setattr("fsspec.core.url_to_fs", fail)
    with pytest.raises(StorageError, match=r"cannot reach 'hdfs://n/t': Unable to load libjvm"):
        open_store("hdfs://n/t")


def test_the_error_pickles() -> None:
    assert str(pickle.loads(pickle.dumps(StorageError("why")))) == "why"


@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("wasbs://container@account/t", "give abfss://container@account.dfs.core.windows.net/path"),
        ("thrift://127.0.0.1:9083", "names a catalog, which is given as catalog="),
        ("s3:///t", "names no bucket; give s3://bucket/path"),
        ("gs:///t", "names no bucket; give gs://bucket/path"),
    ],
)
def test_a_location_of_no_store_is_refused_with_what_to_do(uri, advice) -> None:
    with pytest.raises(StorageError, match=re.escape(advice)):
        open_store(uri)


@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("s3:/bucket/t", "after 's3:'; write 's3://bucket/t' as a string"),
        (Path("s3://bucket/t"), "write 's3://bucket/t' as a string"),
        (Path("abfss://c@a.dfs.core.windows.net/t"), "write 'abfss://c@a.dfs.core.windows.net/t'"),
        ("s3:/key:secret@bucket/t", "write 's3://***@bucket/t'"),
        ("s3:\\bucket\\t", "write 's3://bucket/t'"),
        ("gs:/bucket/t", "write 'gs://bucket/t'"),
        ("hf:/datasets/o/n", "write 'hf://datasets/o/n'"),
        ("dbfs:/mnt/t", "write 'dbfs://mnt/t' as a string, or '/dbfs/mnt/t' where Databricks mounts it"),
        ("unknown+x:/t", "write 'unknown+x://t'"),
        (Path("simplecache::s3://b/t"), "write 'simplecache::s3://b/t'"),
    ],
)
def test_a_scheme_with_one_slash_is_refused_with_what_to_write(uri, advice) -> None:
    with pytest.raises(StorageError, match=re.escape(advice)):
        open_store(uri)


@pytest.mark.parametrize(
    "uri", ["C:/t", Path("C:/t"), "C:\\t", "day=1:/t", "./s3:/t", "x/s3:/t", "10:30/t", "a:b"]
)
def test_a_drive_or_a_colon_elsewhere_is_a_local_path(uri) -> None:
    assert open_store(uri).uri == os.path.abspath(uri)


def test_a_path_object_of_a_uri_is_opened_as_its_uri() -> None:
    class CloudPath(os.PathLike):
        def __str__(self):
            return "s3://bucket/t"

        def __fspath__(self):
            return "/tmp/a-local-copy"

    assert open_store(CloudPath()).uri == "s3://bucket/t"
    assert open_store(Path("file:///data/my%20t")).uri == "/data/my t"
