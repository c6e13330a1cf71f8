"""Broken checkpoints: an earlier checkpoint or the commits replace them, if they lead to the version."""

import json
import logging

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
KINDS = ["classic", "multipart", "v2-parquet", "v2-json", "v2-classic"]


@pytest.fixture
def table(tmp_path):
    table = TableBuilder(tmp_path).features("v2Checkpoint").metadata(SCHEMA)
    for _ in range(7):
        table.commit([table.add_file(1)])
    return table


def count(table, version=None):
    return len(DeltaTable(table.path, version=version).file_uris())


def warned(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("content", [b"", b"PAR1 torn PAR1", b"{"])
@pytest.mark.parametrize("kind", KINDS)
def test_commits_take_the_place_of_a_broken_checkpoint(table, kind, content, caplog):
    file = table.checkpoint(4, kind)[-1]
    file.write_bytes(content)
    assert [count(table), count(table, 4), count(table, 3)] == [7, 5, 4]
    assert len(warned(caplog)) == 2
    assert all(file.name in message for message in warned(caplog))


def test_an_earlier_checkpoint_takes_its_place(table, caplog):
    table.checkpoint(2)
    table.delete_commits(0, 1, 2)
    for kind in ("classic", "v2-json"):
        table.checkpoint(4, kind)[0].write_bytes(b"")
    opened = DeltaTable(table.path)
    assert opened.snapshot.segment.checkpoint.version == 2
    assert len(opened.file_uris()) == 7
    assert len(warned(caplog)) == 2


def test_another_checkpoint_of_the_version_takes_its_place(table):
    table.checkpoint(4)
    table.checkpoint(4, "v2-parquet")[0].write_bytes(b"")
    table.delete_commits(0, 1, 2, 3, 4)
    opened = DeltaTable(table.path)
    assert opened.snapshot.segment.checkpoint.version == 4
    assert len(opened.file_uris()) == 7


def test_a_sidecar_that_is_gone_makes_a_checkpoint_broken(table, caplog):
    _, sidecar, _ = table.checkpoint(4, "v2-parquet", sidecars=2)
    sidecar.unlink()
    assert count(table) == 7
    assert sidecar.name in warned(caplog)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_leads_to_the_version_the_broken_one_is_named(table, kind, caplog):
    file = table.checkpoint(4, kind)[-1]
    file.write_bytes(b"")
    table.delete_commits(2)
    with pytest.raises(CorruptLogError, match=file.name):
        DeltaTable(table.path)
    assert not warned(caplog)


def test_a_broken_commit_is_no_reason_to_look_for_another_checkpoint(table):
    table.checkpoint(4)
    (table.log / f"{5:020d}.json").write_bytes(b"{")
    with pytest.raises(CorruptLogError, match=f"{5:020d}.json"):
        DeltaTable(table.path)


def test_updates_go_on_from_what_was_read(table):
    table.checkpoint(4)[0].write_bytes(b"")
    opened = DeltaTable(table.path)
    table.commit([table.add_file(1)])
    opened.update_incremental()
    assert len(opened.file_uris()) == 8
    table.checkpoint(6)
    for _ in range(30):
        table.commit([table.add_file(1)])
    opened.update_incremental()
    assert len(opened.file_uris()) == 38
    assert opened.snapshot.segment.checkpoint.version == 6


def test_a_broken_checkpoint_is_found_when_a_checksum_has_opened_the_table(table, caplog):
    for _ in range(20):
        table.commit([table.add_file(1)])
    table.checkpoint(4)[0].write_bytes(b"")
    said = {key: body for line in table.commits[0] for key, body in line.items()}
    (table.log / f"{table.version:020d}.crc").write_text(
        json.dumps(
            {
                "tableSizeBytes": 27000,
                "numFiles": 27,
                "numMetadata": 1,
                "numProtocol": 1,
                "protocol": said["protocol"],
                "metadata": said["metaData"],
            }
        )
    )
    opened = DeltaTable(table.path)
    assert not warned(caplog)
    assert len(opened.file_uris()) == 27
    assert opened.snapshot.segment.checkpoint is None
    assert len(warned(caplog)) == 1


def test_verify_reports_it(table):
    file = table.checkpoint(4)[0]
    file.write_bytes(b"")
    report = DeltaTable(table.path).verify()
    assert file.name in {error.where.rpartition("/")[2] for error in report.errors}
