"""The read gate on the protocol of every table of the corpus of real tables."""

import json
from pathlib import Path

import pytest

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import ensure_readable

MANIFEST = Path(__file__).parents[3] / "shared" / "tables" / "manifest.jsonl"
REFUSED = {
    "simple_table_features": "minReaderVersion=5",
    "catalog_managed_0": "catalogManaged",
    "rs-data_err_logs/table_f": "catalogOwned",
}

pytestmark = pytest.mark.skipif(not MANIFEST.is_file(), reason="corpus absent")


def test_the_gate_refuses_what_spark_refuses_and_nothing_else():
    seen = set()
    for line in MANIFEST.read_text().splitlines():
        row = json.loads(line)
        reader, writer = row["features"]["minReader"], row["features"]["minWriter"]
        if reader is None:
            continue
        # The manifest writes an empty list as null.
        protocol = Protocol(
            min_reader_version=reader,
            min_writer_version=writer,
            reader_features=tuple(row["features"]["readerFeatures"] or ()),
            writer_features=tuple(row["features"]["writerFeatures"] or ()),
        )
        metadata = Metadata(id=row["name"], schema_string=row["schema"] or "{}")
        try:
            ensure_readable(protocol, metadata)
        except UnsupportedFeatureError as error:
            assert error.feature == REFUSED[row["name"]]
            seen.add(row["name"])
    assert seen == set(REFUSED)
