"""Footer figures that prove that DuckDB's reader shows variants unchanged."""

import pyarrow as pa
import pytest

from deltaarrow.scan.file_schemas.variant_proofs import Leaf, is_well_shredded, tells_null_apart

FULL, EMPTY, HALF = Leaf(10, 0, True), Leaf(10, 10, True), Leaf(10, 5, True)
NULL_BYTES, UNKNOWN = Leaf(10, 0, False), Leaf(10, None, True)
BYTES = pa.binary()


def group(typed=None):
    return pa.struct([("value", BYTES)] + ([] if typed is None else [("typed_value", typed)]))


def variant(typed=None):
    return pa.struct([("metadata", BYTES), *group(typed)])


NUMBER, LIST = variant(pa.int64()), variant(pa.list_(group(pa.int64())))
OBJECT = variant(pa.struct([("a", group(pa.int64())), ("b", group(pa.string()))]))
ALONE = pa.struct([("typed_value", pa.string())])


@pytest.mark.parametrize(
    ("stored", "leaves"),
    [
        (variant(), [FULL, FULL]),
        (variant(), [HALF, HALF]),
        (variant(), [EMPTY, EMPTY]),
        (NUMBER, [FULL, EMPTY, FULL]),
        (NUMBER, [FULL, FULL, EMPTY]),
        (NUMBER, [HALF, EMPTY, HALF]),
        (LIST, [FULL, EMPTY, EMPTY, Leaf(30, 0, True)]),
        (OBJECT, [FULL, EMPTY, EMPTY, FULL, EMPTY, HALF]),
        (OBJECT, [FULL, EMPTY, NULL_BYTES, EMPTY, EMPTY, EMPTY]),
    ],
)
def test_proven(stored, leaves):
    assert tells_null_apart(stored, leaves)


@pytest.mark.parametrize(
    ("stored", "leaves"),
    [
        (variant(), [FULL, NULL_BYTES]),
        (variant(), [FULL, HALF]),
        (variant(), [UNKNOWN, UNKNOWN]),
        (variant(), [FULL, UNKNOWN]),
        (NUMBER, [FULL, EMPTY, HALF]),
        (NUMBER, [FULL, HALF, HALF]),
        (NUMBER, [FULL, FULL, FULL]),
        (NUMBER, [FULL, UNKNOWN, FULL]),
        (NUMBER, [FULL, NULL_BYTES, EMPTY]),
        (LIST, [FULL, EMPTY, EMPTY, Leaf(30, 1, True)]),
        (LIST, [FULL, EMPTY, HALF, HALF]),
        (OBJECT, [FULL, EMPTY, EMPTY, HALF, EMPTY, HALF]),
        (OBJECT, [FULL, NULL_BYTES, EMPTY, FULL, EMPTY, HALF]),
        (OBJECT, [FULL, HALF, EMPTY, FULL, EMPTY, HALF]),
        (OBJECT, [FULL, EMPTY, FULL, FULL, EMPTY, FULL]),
    ],
)
def test_not_proven(stored, leaves):
    assert not tells_null_apart(stored, leaves)


@pytest.mark.parametrize(
    ("stored", "verdict"),
    [
        (variant(), True),
        (OBJECT, True),
        (pa.struct([("value", BYTES), ("metadata", BYTES)]), True),
        (pa.struct([("metadata", BYTES), ("typed_value", pa.int64())]), False),
        (pa.struct([("metadata", BYTES), ("value", BYTES), ("other", BYTES)]), False),
        (variant(pa.uint8()), False),
        (variant(pa.list_(pa.int64())), False),
        (variant(pa.struct([("a", pa.int64())])), False),
        (variant(pa.list_(ALONE)), False),
        (variant(pa.struct([("b", ALONE)])), False),
        (variant(pa.struct([("a", group(pa.list_(ALONE)))])), False),
        (variant(pa.list_(group(pa.uint8()))), False),
        (variant(pa.map_(pa.string(), pa.int64())), False),
    ],
)
def test_forms_of_shredding_that_duckdb_reads(stored, verdict):
    assert is_well_shredded(stored) is verdict
