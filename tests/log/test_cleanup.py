import os

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import DeltaError
from deltaarrow.log import clean_up_log, list_segment, replay, write_checkpoint
from deltaarrow.log.cleanup import DAY_MS
from deltaarrow.log.file_sources import list_files
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
RETENTION = 3 * DAY_MS


def daily(tmp_path, days, *, checkpoints=(), kind="classic", **options) -> TableBuilder:
    """A table with a commit at noon of each of so many days."""
    v2 = ["v2Checkpoint"] if kind != "classic" else []
    table = TableBuilder(tmp_path).features(*v2).metadata(SCHEMA)
    for day in range(days):
        table.commit([table.add_file(1, name=f"f{day}")], timestamp=EPOCH_MS + day * DAY_MS + DAY_MS // 2)
        if day in checkpoints:
            table.checkpoint(kind=kind, **options)
    return table


def clean(table, day, **options):
    """Clean up in the afternoon of a day."""
    now = EPOCH_MS + day * DAY_MS + DAY_MS * 3 // 4
    names = clean_up_log(open_store(table.path), now_ms=now, retention_ms=RETENTION, **options)
    return [name.removeprefix("_delta_log/") for name in names]


def names(table, pattern="*"):
    return sorted(file.name for file in table.log.glob(pattern) if file.is_file())


def commits(*versions):
    return [f"{version:020d}.json" for version in versions]


def test_nothing_without_a_checkpoint(tmp_path):
    assert clean(daily(tmp_path, 10), 9) == []


def test_nothing_when_the_only_checkpoint_is_younger_than_the_cutoff(tmp_path):
    # The cut-off is the midnight at which day 6 begins: version 5 is the newest commit before it.
    assert clean(daily(tmp_path, 10, checkpoints=[6]), 9) == []


def test_what_is_before_the_newest_checkpoint_at_or_before_the_cutoff_goes(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[2, 5, 8])
    deleted = clean(table, 9)
    assert deleted == [
        *commits(0, 1),
        "00000000000000000002.checkpoint.parquet",
        *commits(2, 3, 4),
    ]
    assert names(table, "0*.json") == commits(5, 6, 7, 8, 9)
    assert list_segment(open_store(table.path), 5).checkpoint.version == 5


def test_the_commit_of_the_kept_checkpoint_stays(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[5])
    assert clean(table, 9) == commits(0, 1, 2, 3, 4)


def test_the_cutoff_is_a_midnight(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[5, 6])
    # In the afternoon of day 9 three days ago is the afternoon of day 6, and its commit is from noon.
    assert commits(5)[0] not in clean(table, 9)
    assert commits(5)[0] in clean(table, 10)


def test_a_commit_at_midnight_is_a_cutoff(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    table.commit(timestamp=EPOCH_MS).commit(timestamp=EPOCH_MS + 6 * DAY_MS)
    table.checkpoint()
    assert clean(table, 9) == commits(0)


def test_times_increase_from_version_to_version(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[3, 5])
    # Version 4 seems to be of day 7: those after it are younger than it is, whatever their files say.
    moment = (EPOCH_MS + 7 * DAY_MS) / 1000
    os.utime(table.log / commits(4)[0], (moment, moment))
    assert clean(table, 9)[-1] == commits(2)[0]


def test_checksums_and_compactions_go_with_their_commits(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[5])
    for version in range(10):
        (table.log / f"{version:020d}.crc").write_text("{}")
    table.compacted(1, 3).compacted(4, 7).compacted(5, 6).compacted(6, 8)
    clean(table, 9)
    assert names(table, "*.crc") == [f"{version:020d}.crc" for version in range(5, 10)]
    assert names(table, "*compacted*") == ["00000000000000000006.00000000000000000008.compacted.json"]


def test_a_checkpoint_before_a_gap_is_not_relied_on(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[3, 5]).compacted(4, 7)
    table.delete_commits(6)
    before = _readable(tmp_path)
    assert clean(table, 9) == []
    assert _readable(tmp_path) == before


def test_a_broken_checkpoint_is_not_relied_on(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[2, 5])
    (table.log / "00000000000000000005.checkpoint.parquet").write_bytes(b"")
    assert clean(table, 9) == commits(0, 1)


def test_a_checkpoint_without_one_of_its_sidecars_is_not_relied_on(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[5], kind="v2-parquet", sidecars=2)
    next((table.log / "_sidecars").iterdir()).unlink()
    assert clean(table, 9) == []


def test_an_incomplete_multi_part_checkpoint_is_none(tmp_path):
    table = daily(tmp_path, 10)
    table.checkpoint(5, kind="multipart", parts=2)[0].unlink()
    assert clean(table, 9) == []


def test_protected_checkpoints_go_together_or_not_at_all(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[2, 5])
    assert clean(table, 9, protected_before=6) == []
    assert clean(table, 9, protected_before=5) != []


def test_old_sidecars_go_that_no_checkpoint_names(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[2, 5], kind="v2-json", sidecars=2)
    table.checkpoint(8, kind="v2-parquet", sidecars=1)
    store = open_store(tmp_path)
    folder = table.log / "_sidecars"
    for file in folder.iterdir():
        os.utime(file, (EPOCH_MS / 1000, EPOCH_MS / 1000))
    for name, age_in_days in (("old.parquet", 2), ("young.parquet", 0.8)):
        (folder / name).write_bytes(b"")
        moment = EPOCH_MS / 1000 + (9 - age_in_days) * 86400
        os.utime(folder / name, (moment, moment))
    before = len(list(folder.iterdir()))
    deleted = [name for name in clean(table, 9) if "_sidecars" in name]
    assert len(deleted) == 3
    assert "_sidecars/old.parquet" in deleted
    assert len(list(folder.iterdir())) == before - 3
    for version in (5, 8, 9):
        list_files(replay(store, list_segment(store, version)))


def test_no_sidecar_goes_while_a_checkpoint_cannot_be_read(tmp_path):
    table = daily(tmp_path, 10, checkpoints=[5], kind="v2-json", sidecars=1)
    table.checkpoint(8)[0].write_bytes(b"broken")
    (folder := table.log / "_sidecars").joinpath("old.parquet").write_bytes(b"")
    os.utime(folder / "old.parquet", (1, 1))
    clean(table, 9)
    assert (folder / "old.parquet").exists()


@st.composite
def logs(draw):
    times = draw(st.lists(st.integers(0, 12 * 4), min_size=3, max_size=9))
    kinds = st.sampled_from(["none", "ours", "classic", "v2-json", "v2-parquet", "multipart"])
    return (
        times if draw(st.booleans()) else sorted(times),
        draw(st.lists(kinds, min_size=len(times), max_size=len(times))),
        draw(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 3)), max_size=2)),
        draw(st.integers(0, 16)),
    )


def _readable(path):
    """Every version that can be read, with its files."""
    store = open_store(path)
    found = {}
    for version in range(10):
        try:
            table = list_files(replay(store, list_segment(store, version)), ["path"])
        except DeltaError:
            continue
        found[version] = sorted(table.column("path").to_pylist())
    return found


@settings(deadline=None, max_examples=examples(5))
@given(logs())
def test_whatever_is_as_new_as_the_kept_checkpoint_reads_as_before(tmp_path_factory, log):
    check_cleanup(tmp_path_factory, log)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(logs())
def test_whatever_is_as_new_as_the_kept_checkpoint_reads_as_before_in_many_examples(tmp_path_factory, log):
    check_cleanup(tmp_path_factory, log)


def check_cleanup(tmp_path_factory, log):
    times, kinds, compactions, day = log
    folder = tmp_path_factory.mktemp("t")
    table = TableBuilder(folder).features("v2Checkpoint").metadata(SCHEMA)
    store = open_store(folder)
    for version, (quarter, kind) in enumerate(zip(times, kinds, strict=True)):
        add = table.add_file(1, name=f"f{version}")
        removed = [table.remove(table.add_file(1, name=f"f{version - 2}"))] if version % 3 == 2 else []
        table.commit([add, *removed], timestamp=EPOCH_MS + quarter * DAY_MS // 4)
        if kind == "ours":
            write_checkpoint(replay(store, list_segment(store)))
        elif kind != "none":
            table.checkpoint(kind=kind, sidecars=1 if kind.startswith("v2") else 0)
    for first, length in compactions:
        if first + length < len(times):
            table.compacted(first, first + length)
    before = _readable(folder)
    deleted = clean(table, day)
    after = _readable(folder)
    cutoff = EPOCH_MS + (day - 3) * DAY_MS
    clock, kept = -1, set()
    for version, quarter in enumerate(times):
        clock = max(clock + 1, EPOCH_MS + quarter * DAY_MS // 4)
        if clock > cutoff:
            kept.add(version)
    # All that is younger than the retention, and nothing reads otherwise than it did.
    assert {version: before[version] for version in kept} == {version: after[version] for version in kept}
    assert all(before[version] == files for version, files in after.items())
    if deleted:
        oldest = min(after)
        assert list(after) == list(range(oldest, len(times)))
