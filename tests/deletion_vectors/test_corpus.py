"""Every deletion vector in the corpus of real tables, and whether we would write the same bytes."""

import json
from pathlib import Path

import pytest

from deltaarrow.deletion_vectors import DeletionVectorDescriptor, encode_bitmap, read_deletion_vectors
from deltaarrow.storage import open_store

TABLES = Path(__file__).parents[3] / "shared" / "tables" / "tables"
# Its one group of five characters stands for more than four bytes; see test_inline.
BROKEN = "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg##093"

pytestmark = pytest.mark.skipif(not TABLES.is_dir(), reason="corpus absent")


def descriptors(table):
    for commit in sorted((table / "_delta_log").glob("[0-9]*.json")):
        text = commit.read_text()
        if '"deletionVector":{' not in text:
            continue
        for line in text.splitlines():
            action = json.loads(line)
            obj = (action.get("add") or action.get("remove") or {}).get("deletionVector")
            if obj is not None and obj["pathOrInlineDv"] != BROKEN:
                yield DeletionVectorDescriptor.from_json(obj)


def test_every_vector_is_read_and_encodes_to_the_bytes_that_spark_wrote():
    seen = 0
    for log in TABLES.rglob("_delta_log"):
        store = open_store(log.parent)
        wanted = [d for d in descriptors(log.parent) if d.is_inline or store.exists(d.file_name())]
        for descriptor, rows in zip(wanted, read_deletion_vectors(store, wanted), strict=True):
            payload = encode_bitmap(rows.bitmap)
            if descriptor.is_inline:
                assert payload == descriptor.inline_payload()
            else:
                at = descriptor.offset + 4
                assert payload == store.read_range(descriptor.file_name(), at, descriptor.size_in_bytes)
            seen += 1
    assert seen > 100
