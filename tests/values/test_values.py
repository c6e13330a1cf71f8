"""A `Value` is what a frozen dataclass of the same fields is."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass

import pytest

from deltaarrow.values import Value


class Pair(Value):
    first: object
    second: object = 2


class Other(Value):
    first: object
    second: object = 2


@dataclass(frozen=True)
class Dataclass:
    first: object
    second: object = 2


GIVEN = [((1,), {}), ((1, 3), {}), ((), {"first": 1}), ((1,), {"second": 3}), ((), {"second": 2, "first": 1})]


@pytest.mark.parametrize(("values", "named"), GIVEN)
def test_shows_and_holds_what_a_dataclass_does(values, named):
    found, wanted = Pair(*values, **named), Dataclass(*values, **named)
    assert repr(found) == repr(wanted).replace("Dataclass", "Pair")
    assert (found.first, found.second) == (wanted.first, wanted.second)
    match found:
        case Pair(first, second):
            assert (first, second) == (wanted.first, wanted.second)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((), {"second": 2}), ((1, 2, 3), {}), ((1,), {"first": 1}), ((1,), {"third": 3})],
)
def test_takes_the_fields_of_a_dataclass_alone(values, named):
    for kind in (Pair, Dataclass):
        with pytest.raises(TypeError, match=r"first|Pair|Dataclass"):
            kind(*values, **named)


def test_compares_and_hashes_by_class_and_fields():
    for left_values, _ in GIVEN:
        for right_values, _ in GIVEN:
            if left_values and right_values:
                equal = Dataclass(*left_values) == Dataclass(*right_values)
                assert (Pair(*left_values) == Pair(*right_values)) is equal
                assert (hash(Pair(*left_values)) == hash(Pair(*right_values))) is equal
    assert Pair(1) != Other(1)
    assert Pair(1) != (1, 2)
    nan = float("nan")
    assert (Pair(nan) == Pair(nan)) is (Dataclass(nan) == Dataclass(nan))


def test_never_changes():
    value = Pair(1)
    with pytest.raises(FrozenInstanceError):
        value.first = 2
    with pytest.raises(FrozenInstanceError):
        del value.first
    assert value == Pair(1)


def test_is_copied_and_pickled():
    value = Pair((1, "a"), {"b": 2})
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_fields_of_a_base_come_first():
    class Triple(Pair):
        third: object = 3

    assert repr(Triple(1)).endswith("Triple(first=1, second=2, third=3)")
