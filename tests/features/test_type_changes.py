"""Type changes that a table's log may record; all others are refused by name."""

import json

import pytest

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import ensure_readable

pytestmark = pytest.mark.feature("typeWidening")

NAMES = ["typeWidening", "typeWidening-preview"]
WHOLE = ["byte", "short", "integer", "long"]
ALLOWED = [
    *((old, new) for i, old in enumerate(WHOLE) for new in WHOLE[i + 1 :]),
    ("float", "double"),
    *((old, "double") for old in WHOLE[:3]),
    ("date", "timestamp_ntz"),
    *((old, f"decimal({p},{s})") for old in WHOLE[:3] for p, s in ((10, 0), (11, 1), (38, 28))),
    *(("long", f"decimal({p},{s})") for p, s in ((20, 0), (24, 4), (38, 18))),
    ("decimal(5,2)", "decimal(6,2)"),
    ("decimal(5,2)", "decimal(7,4)"),
    ("decimal(5, 2)", "decimal(38, 20)"),
    ("integer", "integer"),
]
REFUSED = [
    *((new, old) for i, old in enumerate(WHOLE) for new in WHOLE[i + 1 :]),
    ("double", "float"),
    ("long", "double"),
    *((old, "float") for old in WHOLE),
    ("float", "decimal(38,10)"),
    ("double", "decimal(38,10)"),
    ("timestamp_ntz", "date"),
    ("date", "timestamp"),
    ("timestamp", "timestamp_ntz"),
    ("timestamp_ntz", "timestamp"),
    ("byte", "decimal(2,0)"),
    ("short", "decimal(5,1)"),
    ("integer", "decimal(9,0)"),
    ("integer", "decimal(10,1)"),
    ("long", "decimal(19,0)"),
    ("long", "decimal(20,1)"),
    ("decimal(5,2)", "decimal(4,2)"),
    ("decimal(5,2)", "decimal(6,4)"),
    ("decimal(5,2)", "decimal(6,1)"),
    ("decimal(5,0)", "long"),
    ("integer", "string"),
    ("string", "integer"),
    ("boolean", "integer"),
    ("string", "binary"),
    ("variant", "string"),
]


def field(name, kind, *changes):
    metadata = {"delta.typeChanges": list(changes)} if changes else {}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def change(old, new, **more):
    return {"fromType": old, "toType": new} | more


def read(schema, name="typeWidening"):
    features = () if name is None else (name,)
    protocol = Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=features, writer_features=features
    )
    ensure_readable(protocol, Metadata(id="x", schema_string=json.dumps(schema)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("old", "new"), ALLOWED)
def test_a_change_that_the_feature_allows_is_read(name, old, new):
    read(struct(field("c", new, change(old, new))), name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_a_change_that_the_feature_does_not_allow_is_refused(name, old, new):
    with pytest.raises(UnsupportedFeatureError) as caught:
        read(struct(field("c", new, change(old, new))), name)
    for part in ("column c ", f" {old.replace(' ', '')} ", f" {new}", "typeWidening"):
        assert part in str(caught.value)
    assert caught.value.feature == "typeWidening"


@pytest.mark.parametrize(
    ("old", "new"), [("byte", "decimal(3,0)"), ("byte", "decimal(4,1)"), ("short", "decimal(6,1)")]
)
def test_small_decimals_are_of_the_time_of_the_preview(old, new):
    schema = struct(field("c", new, change(old, new)))
    read(schema, "typeWidening-preview")
    with pytest.raises(UnsupportedFeatureError, match=f"from {old} to"):
        read(schema, "typeWidening")


def test_every_change_of_a_column_counts():
    first, second = change("byte", "short"), change("long", "integer")
    read(struct(field("c", "long", first, change("short", "long", tableVersion=4))))
    with pytest.raises(UnsupportedFeatureError, match="from long to integer"):
        read(struct(field("c", "integer", first, second)))


def array(element):
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (struct(field("m", mapping("long", "long"), change("string", "long", fieldPath="key"))), "m.key"),
        (struct(field("m", mapping("long", "long"), change("string", "long", fieldPath="value"))), "m.value"),
        (
            struct(
                field(
                    "a",
                    array(mapping("long", array("long"))),
                    change("string", "long", fieldPath="element.value.element"),
                )
            ),
            "a.element.value.element",
        ),
        (struct(field("s", struct(field("c", "long", change("string", "long"))))), "s.c"),
        (struct(field("a", array(struct(field("c", "long", change("string", "long")))))), "a.element.c"),
        (
            struct(field("m", mapping("string", struct(field("c", "long", change("string", "long")))))),
            "m.value.c",
        ),
        (
            struct(field("m", mapping(struct(field("c", "long", change("string", "long"))), "string"))),
            "m.key.c",
        ),
    ],
)
def test_nested_changes_are_refused_with_their_place(schema, where):
    with pytest.raises(UnsupportedFeatureError, match=rf"column {where} was changed from string to long"):
        read(schema)
    allowed = json.loads(json.dumps(schema).replace('"fromType": "string"', '"fromType": "integer"'))
    read(allowed)


@pytest.mark.parametrize(
    "changes",
    [
        {"fromType": "integer", "toType": "long"},
        ["integer"],
        [{"fromType": "integer"}],
        [{"toType": "integer"}],
        [{"fromType": 1, "toType": "long"}],
        [{"fromType": "integer", "toType": {"type": "array"}}],
        [{"fromType": "integer", "toType": "no type"}],
        [{"fromType": "integer", "toType": "decimal(99,0)"}],
        [{"fromType": "integer", "toType": "long", "fieldPath": 1}],
        None,
    ],
    ids=str,
)
def test_a_change_that_cannot_be_understood_is_refused(changes):
    column = field("c", "long") | {"metadata": {"delta.typeChanges": changes}}
    with pytest.raises(UnsupportedFeatureError, match="column c ") as caught:
        read(struct(column))
    assert caught.value.feature == "typeWidening"


def test_without_the_feature_the_metadata_says_nothing():
    """As with Spark: what reads such a file all the same, or refuses it, is its data type."""
    read(struct(field("c", "long", change("string", "long"))), None)
