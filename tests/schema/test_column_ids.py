import re

from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    Schema,
    StructType,
    assign_column_ids,
    field_id,
    physical_name,
)

SCHEMA = Schema(
    [
        Field("a", "long", metadata={"comment": "kept"}),
        Field("s", StructType([Field("x", "long")])),
        Field("xs", ArrayType(StructType([Field("i", "long")]))),
        Field("m", MapType(StructType([Field("k", "long")]), StructType([Field("v", "long")]))),
    ]
)
NAME = re.compile("col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def fields(data_type):
    """Every field, from the outside in."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                yield field
                yield from fields(field.type)
        case ArrayType():
            yield from fields(data_type.element_type)
        case MapType():
            yield from fields(data_type.key_type)
            yield from fields(data_type.value_type)


def marks(data_type):
    return [(field.name, field_id(field), physical_name(field, "name")) for field in fields(data_type)]


def test_every_field_has_the_next_id_and_a_name_of_its_own():
    found, highest = assign_column_ids(SCHEMA, 4)
    assert highest == 12
    assert [(name, number) for name, number, _ in marks(found)] == list(
        zip(["a", "s", "x", "xs", "i", "m", "k", "v"], range(5, 13), strict=True)
    )
    assert all(NAME.fullmatch(name) for _, _, name in marks(found))
    assert len({name for _, _, name in marks(found)}) == 8
    assert found.field("a").metadata["comment"] == "kept"


def test_fields_that_have_them_keep_them():
    once, highest = assign_column_ids(SCHEMA)
    assert assign_column_ids(once, 3) == (once, highest)
    more = Schema([*once.fields, Field("new", "long")])
    twice, after = assign_column_ids(more, highest)
    assert marks(twice)[:-1] == marks(once)
    assert (field_id(twice.field("new")), after) == (9, 9)


def test_a_field_goes_on_where_its_type_does():
    once, highest = assign_column_ids(SCHEMA)
    old = {name: mark for name, *mark in marks(once)}
    new = Schema(
        [
            Field("m", SCHEMA.field("m").type),
            Field("A", "long"),
            Field("s", StructType([Field("x", "long"), Field("y", "long")])),
            Field("xs", ArrayType(StructType([Field("i", "string")]))),
        ]
    )
    found, after = assign_column_ids(new, highest, previous=once)
    kept = {name: mark for name, *mark in marks(found)}
    assert [kept[name] for name in ("m", "k", "v", "x")] == [old[name] for name in ("m", "k", "v", "x")]
    assert kept["A"] == old["a"]
    # The struct has grown and the array holds something else: they are new, what is alike in them is not.
    assert [kept[name][0] for name in ("s", "y", "xs", "i")] == [9, 10, 11, 12]
    assert after == 12


def test_a_field_that_may_be_null_is_not_followed_by_one_that_may_not():
    once, highest = assign_column_ids(Schema([Field("s", StructType([Field("x", "long")]))]))
    strict = Schema([Field("s", StructType([Field("x", "long", nullable=False)]))])
    found, _ = assign_column_ids(strict, highest, previous=once)
    assert [number for _, number, _ in marks(found)] == [3, 2]


def test_an_array_or_a_map_goes_on_though_it_is_told_to_be_without_null():
    columns = {"xs": ArrayType("long"), "m": MapType("string", "long")}
    strict = {"xs": ArrayType("long", contains_null=False), "m": MapType("string", "long", False)}
    once, highest = assign_column_ids(Schema([Field(name, each) for name, each in columns.items()]))
    overwritten = Schema([Field(name, each) for name, each in strict.items()])
    found, after = assign_column_ids(overwritten, highest, previous=once)
    assert (marks(found), after) == (marks(once), highest)
