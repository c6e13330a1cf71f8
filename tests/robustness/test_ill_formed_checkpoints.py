"""Checkpoints and sidecars that are broken, have other types or are missing: the error names the file."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError, DeltaError, VersionNotFoundError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import LocalStore
from tests.support.conditions import predicate_of
from tests.support.exercise import refusals
from tests.support.small_tables import write_small_table

KINDS = ["classic", "v2-parquet", "v2-json"]


def checkpointed(tmp_path, kind, **options):
    """A table whose newest version only a checkpoint leads to, and the files of that."""
    builder = write_small_table(tmp_path / "t", "commits")
    files = builder.checkpoint(kind=kind, **options)
    builder.delete_commits(0, 1, 2)
    return builder, files


def refused(builder, file):
    with pytest.raises(CorruptLogError) as caught:
        DeltaTable(builder.path).to_pyarrow_table()
    assert file.name in str(caught.value)


def rewrite(file, column, change):
    """Write a Parquet file anew with a column changed; None drops it."""
    table = pq.read_table(file, partitioning=None)
    place = table.schema.get_field_index(column)
    changed = change(table.column(column).combine_chunks())
    table = table.remove_column(place)
    pq.write_table(table if changed is None else table.add_column(place, column, changed), file)


def member(name, change):
    """Change one member of a struct column; None drops it."""

    def apply(column):
        arrays = {f.name: column.field(f.name) for f in column.type}
        changed = change(arrays[name])
        arrays = {key: array for key, array in (arrays | {name: changed}).items() if array is not None}
        return pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=column.is_null())

    return apply


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 3, b"{", b"\0" * 100])
def test_a_checkpoint_that_is_none_is_refused(tmp_path, kind, content):
    builder, (file, *_) = checkpointed(tmp_path, kind)
    file.write_bytes(content)
    refused(builder, file)


@pytest.mark.parametrize("kind", ["v2-parquet", "v2-json"])
@pytest.mark.parametrize("content", [b"", b"PAR1" * 3, None], ids=["empty", "torn", "gone"])
def test_a_sidecar_that_cannot_be_read_is_refused_also_when_the_hint_leads_there(tmp_path, kind, content):
    builder, (_, sidecar, _) = checkpointed(tmp_path, kind, sidecars=2)
    assert (builder.log / "_last_checkpoint").exists()
    if content is None:
        sidecar.unlink()
    else:
        sidecar.write_bytes(content)
    refused(builder, sidecar)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("path", lambda a: pa.array(range(len(a)), pa.int64())),
        ("path", lambda a: a.cast(pa.binary())),
        ("path", lambda a: None),
        ("partitionValues", lambda a: pa.StructArray.from_arrays([a.is_null()], ["day"])),
        ("partitionValues", lambda a: pa.nulls(len(a), a.type)),
        ("size", lambda a: a.cast(pa.string())),
        ("size", lambda a: a.cast(pa.float64())),
        ("size", lambda a: pa.nulls(len(a), a.type)),
        ("dataChange", lambda a: a.cast(pa.int32())),
        ("stats", lambda a: a.is_null()),
        ("deletionVector", lambda a: a.is_null()),
        ("deletionVector", member("sizeInBytes", lambda a: None)),
        ("deletionVector", member("cardinality", lambda a: pa.nulls(len(a), a.type))),
        ("deletionVector", member("offset", lambda a: a.cast(pa.string()))),
    ],
)
def test_file_actions_with_other_columns_are_refused(tmp_path, name, change):
    builder, (file,) = checkpointed(tmp_path, "classic")
    rewrite(file, "add", member(name, change))
    refused(builder, file)


@pytest.mark.parametrize("change", [lambda a: a.is_null(), lambda a: None], ids=["boolean", "absent"])
def test_a_checkpoint_without_file_actions_is_refused(tmp_path, change):
    builder, (file,) = checkpointed(tmp_path, "classic")
    rewrite(file, "add", change)
    refused(builder, file)


@pytest.mark.parametrize("column", ["protocol", "metaData", "txn"])
def test_other_actions_of_another_type_are_refused(tmp_path, column):
    builder, (file,) = checkpointed(tmp_path, "classic")
    rewrite(file, column, lambda a: a.is_valid().cast(pa.int64()))
    refused(builder, file)


def test_a_number_beyond_its_column_is_refused_with_the_file(tmp_path):
    builder, (_, first, second) = checkpointed(tmp_path, "v2-parquet", sidecars=2)
    huge = pa.scalar(2**63 + 1, pa.uint64())
    rewrite(second, "add", member("size", lambda a: pa.array([huge.as_py()] * len(a), pa.uint64())))
    refused(builder, second)
    assert first.name != second.name


@pytest.mark.parametrize(
    "path", ["../x.parquet", "%2E%2E/x.parquet", "../../../../etc/passwd", "a\0b", "gone"]
)
@pytest.mark.parametrize("kind", ["v2-parquet", "v2-json"])
def test_a_sidecar_elsewhere_is_refused(tmp_path, path, kind):
    builder, (file, *_) = checkpointed(tmp_path, kind, sidecars=1)
    if kind == "v2-json":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines[-1]["sidecar"]["path"] = path
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        rewrite(
            file,
            "sidecar",
            member("path", lambda a: pa.array([None if x is None else path for x in a.to_pylist()])),
        )
    with pytest.raises(DeltaError):
        DeltaTable(builder.path).to_pyarrow_table()


def test_a_sidecar_named_twice_is_read_once(tmp_path):
    builder, (file, *_) = checkpointed(tmp_path, "v2-json", sidecars=1)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[-1]]))
    assert DeltaTable(builder.path).to_pyarrow_table().num_rows == 95


def test_a_checkpoint_that_is_its_own_sidecar_adds_nothing_twice(tmp_path):
    builder, (file, *_) = checkpointed(tmp_path, "classic")
    table = pq.read_table(file, partitioning=None)
    itself = {"path": file.as_uri(), "sizeInBytes": 1, "modificationTime": 0}
    sidecars = pa.array([itself] + [None] * (table.num_rows - 1))
    pq.write_table(table.append_column("sidecar", sidecars), file)
    with pytest.raises(CorruptLogError, match="twice"):
        DeltaTable(builder.path).to_pyarrow_table()


def test_parts_without_number_take_no_memory(tmp_path):
    builder, _ = checkpointed(tmp_path, "classic")
    for parts in (9_999_999_999, 0):
        (builder.log / f"{9:020d}.checkpoint.{1:010d}.{parts:010d}.parquet").touch()
    assert DeltaTable(builder.path).version() == 3


def test_an_absurd_version_is_a_gap(tmp_path):
    builder, _ = checkpointed(tmp_path, "classic")
    (builder.log / f"{'9' * 20}.json").write_text('{"commitInfo":{}}')
    with pytest.raises(CorruptLogError, match="version 4 has no commit"):
        DeltaTable(builder.path)


# --- cleaned up meanwhile --------------------------------------------------------------------------


class CleanedUp(LocalStore):
    """A store in which files whose names end so are gone once the log has been listed."""

    def __init__(self, root, *endings):
        super().__init__(str(root))
        self.endings = endings

    def list_from(self, folder, start=""):
        found = super().list_from(folder, start)
        for entry in found:
            if entry.name.endswith(self.endings):
                self.delete(entry.name)
        return found


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        (None, "00000000000000000002.json"),
        ("classic", ".checkpoint.parquet"),
        ("multipart", ".checkpoint.0000000002.0000000002.parquet"),
        ("v2-parquet", ".parquet"),
        ("v2-json", ".checkpoint.json"),
    ],
)
def test_a_file_that_is_gone_once_it_was_listed_is_named(tmp_path, kind, ending):
    builder = write_small_table(tmp_path / "t", "commits")
    if kind is not None:
        file = builder.checkpoint(kind=kind, hint=False)[-1]
        builder.delete_commits(0, 1, 2)
        ending = file.name
    with pytest.raises(CorruptLogError) as caught:
        Snapshot.load(CleanedUp(builder.path, ending))
    assert ending in str(caught.value)


def test_a_checkpoint_that_is_gone_when_files_are_asked_for_is_named(tmp_path):
    builder, (file,) = checkpointed(tmp_path, "classic")
    table = DeltaTable(builder.path)
    file.unlink()
    with pytest.raises(CorruptLogError) as caught:
        table.file_uris()
    assert file.name in str(caught.value)


class CleanedUpOnce(LocalStore):
    """A store whose log is cleaned up, after a checkpoint that another writer makes, once it was listed."""

    def __init__(self, builder, version, is_kept=lambda name: False):
        super().__init__(str(builder.path))
        self.builder, self.version, self.is_kept, self.is_clean = builder, version, is_kept, False

    def list_from(self, folder, start=""):
        found = super().list_from(folder, start)
        if not self.is_clean:
            self.is_clean = True
            clean_up(self.builder, self.version, self.is_kept)
        return found


def clean_up(builder, version, is_kept=lambda name: False):
    """Make a checkpoint of a version, which may be a new one, and delete what is before it."""
    if version > builder.version:
        builder.commit([builder.txn("etl", version)])
    for older in [*builder.log.glob("*.checkpoint*"), *builder.log.glob("_sidecars/*")]:
        older.unlink()
    builder.checkpoint(version)
    for commit in builder.log.glob("*.json"):
        if int(commit.name.partition(".")[0]) < version and not is_kept(commit.name):
            commit.unlink()


def cleanable(tmp_path, kind):
    builder = write_small_table(tmp_path / "t", "commits")
    builder.checkpoint(1, kind, **({"sidecars": 1} if kind == "v2-parquet" else {}))
    builder.commit([builder.txn("etl", 2)])
    return builder


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-parquet", "v2-json"])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_log_that_is_cleaned_up_while_it_is_opened_is_read_from_the_next_checkpoint(
    tmp_path, kind, version
):
    builder = cleanable(tmp_path, kind)
    builder.delete_commits(0)
    snapshot = Snapshot.load(CleanedUpOnce(builder, version))
    assert (snapshot.version, snapshot.segment.checkpoint.version) == (max(version, 4), version)
    assert snapshot.files().num_rows == 4


def test_an_older_version_is_read_from_the_next_checkpoint_as_well_or_named(tmp_path):
    builder = cleanable(tmp_path, "classic")
    builder.delete_commits(0)
    assert Snapshot.load(CleanedUpOnce(builder, 3), 3).files().num_rows == 4
    with pytest.raises(VersionNotFoundError, match="the log holds the versions 4 to 4"):
        Snapshot.load(CleanedUpOnce(builder, 4), 3)


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-parquet"])
def test_files_are_listed_from_the_next_checkpoint_when_theirs_is_cleaned_up(tmp_path, kind):
    builder = cleanable(tmp_path, kind)
    snapshots = [Snapshot.load(LocalStore(str(builder.path)), version) for version in (4, 3)]
    clean_up(builder, 4)
    assert snapshots[0].files().num_rows == 4
    day = predicate_of("day = DATE '2026-01-02'", snapshots[0].schema)
    assert snapshots[0].files(day).num_rows == 1
    assert snapshots[0].tombstones().num_rows == 2
    with pytest.raises(VersionNotFoundError, match="version 3 can no longer be read"):
        snapshots[1].files()


def test_history_names_a_commit_that_is_gone(tmp_path):
    builder = write_small_table(tmp_path / "t", "commits")
    table = DeltaTable(builder.path)
    table._snapshot.store = CleanedUp(builder.path, "00000000000000000001.json")
    with pytest.raises(CorruptLogError, match=r"00000000000000000001\.json was listed but no longer exists"):
        table.history()


def test_a_broken_domain_is_refused_where_it_is_asked_for(tmp_path):
    builder = write_small_table(tmp_path / "t", "commits")
    writers = ["deletionVectors", "v2Checkpoint", "clustering", "domainMetadata"]
    builder.protocol(3, 7, writers[:2], writers).commit([builder.domain("delta.clustering", "[7]")])
    assert {question for question, _ in refusals(builder.path)} == {"detail"}


# --- parts without file actions ----------------------------------------------------------------------


def multipart(tmp_path, *columns):
    """A table of 95 rows with a checkpoint in two parts, each with those columns alone that are given for it.

    The first part has the actions that are not about files, the second one those that are.
    """
    builder, parts = checkpointed(tmp_path, "multipart")
    rows = pa.concat_tables([pq.read_table(part, partitioning=None) for part in parts])
    about_files = pc.or_(rows.column("add").is_valid(), rows.column("remove").is_valid())
    for part, names, own in zip(parts, columns, [pc.invert(about_files), about_files], strict=True):
        pq.write_table(rows.filter(own).select(names), part)
    return builder, parts


HEAD = ["protocol", "metaData", "txn", "domainMetadata"]


@pytest.mark.parametrize("columns", [(HEAD, ["add", "remove"]), (HEAD, ["add"]), (HEAD, ["remove", "add"])])
def test_a_part_may_be_without_file_actions(tmp_path, columns):
    builder, _ = multipart(tmp_path, *columns)
    assert DeltaTable(builder.path).to_pyarrow_table().num_rows == 95


def test_parts_that_are_all_without_file_actions_are_refused(tmp_path):
    builder, parts = multipart(tmp_path, HEAD, ["remove"])
    refused(builder, parts[1])
