"""Helper functions for predicate trees."""

import pickle

from deltaarrow.expressions import (
    FALSE,
    NULL,
    TRUE,
    And,
    Column,
    Compare,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    columns_of,
    conjuncts,
    is_exact,
    null_safe_equal,
)
from deltaarrow.schema import Field, Schema, StructType
from tests.support.conditions import predicate_of

A, B = Column(("a",)), Column(("s", "b"))
SCHEMA = Schema(
    [
        *(Field(name, "long") for name in "aefg"),
        Field("b", "string"),
        Field("c", "string"),
        Field("d", "double"),
        Field("day", "date"),
        Field("s", StructType([Field("b", "long")])),
    ]
)


def test_columns_of_every_node():
    tree = predicate_of(
        "a = 1 AND (s.b IN (2) OR c LIKE 'x%' OR isnan(d) OR NOT e IS NULL OR f > g) AND TRUE", SCHEMA
    )
    assert columns_of(tree) == {("a",), ("s", "b"), ("c",), ("d",), ("e",), ("f",), ("g",)}
    assert columns_of(Not(Opaque("x", (A, B)))) == {("a",), ("s", "b")}


def test_conjuncts_are_flat():
    one, two, three = (Compare("=", A, Literal(value)) for value in (1, 2, 3))
    assert conjuncts(And((one, And((two, TRUE)), Or((one, three))))) == [one, two, Or((one, three))]
    assert conjuncts(TRUE) == []
    assert conjuncts(FALSE) == [FALSE]


def test_null_safe_equality():
    assert null_safe_equal(A, Literal(None)) == IsNull(A)
    assert null_safe_equal(Literal(None), Literal(None)) == TRUE
    assert null_safe_equal(Literal(1), A) == And((Not(IsNull(A)), Compare("=", Literal(1), A)))
    both = null_safe_equal(A, B)
    assert both == Or(
        (And((IsNull(A), IsNull(B))), And((Not(IsNull(A)), Not(IsNull(B)), Compare("=", A, B))))
    )


def test_exactness():
    assert is_exact(predicate_of("a = 1 OR NULL", SCHEMA))
    assert not is_exact(Or((NULL, Not(IsNull(Opaque("x"))))))


def test_trees_are_values():
    tree = predicate_of("a = 1 AND b IN ('x', 'y') AND day < DATE'2020-01-01'", SCHEMA)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(tree) == hash(predicate_of("a = 1 AND b IN ('x', 'y') AND day < DATE'2020-01-01'", SCHEMA))
