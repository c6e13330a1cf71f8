"""Dataclasses of `deltaarrow.runtime.records` are those of the standard library, made faster."""

import copy
import dataclasses
import inspect
import math
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from deltaarrow.actions import AddFile
from deltaarrow.runtime.records import dataclass as quick

OPTIONS = [
    {},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "kw_only": True, "slots": True},
    {"frozen": True, "repr": False},
    {"slots": True},
    {"eq": False},
    {"frozen": True, "order": True},
]


def both(options):
    """The same class, made by the standard library and here."""

    def made(decorate):
        @decorate(**options)
        class Point:
            x: int
            y: "float" = 0.5
            kind: ClassVar[str] = "point"
            names: list[str] = field(default_factory=list)
            note: str = field(default="", compare=False, repr=False)
            place: Any = field(default=None, hash=False)

            @property
            def double(self):
                return self.x * 2

        return Point

    return made(dataclasses.dataclass), made(quick)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_are_those_of_the_standard_library(options):
    wanted, found = both(options)
    assert [(each.name, each.type, each.default) for each in dataclasses.fields(found)] == [
        (each.name, each.type, each.default) for each in dataclasses.fields(wanted)
    ]
    assert str(found.__dataclass_params__) == str(wanted.__dataclass_params__)
    assert str(inspect.signature(found)) == str(inspect.signature(wanted))
    assert found.__match_args__ == wanted.__match_args__
    assert found.__init__.__annotations__ == wanted.__init__.__annotations__
    assert (found.__hash__ is None) == (wanted.__hash__ is None)
    results = []
    for each in (wanted, found):
        one, other = each(x=1, names=["a"], note="b"), each(x=1, names=["a"], place=2)
        again = dataclasses.replace(one, y=3.0)
        results.append(
            (one == one, one == other, one == again, one == (1,), one.double, dataclasses.asdict(again))
        )
        assert copy.copy(one).names is one.names
        assert each(x=1).names is not each(x=1).names
        if options.get("repr", True):
            results.append(repr(again).rpartition(".")[2])
        if options.get("frozen"):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
                one.x = 2
            with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
                one.other = 2
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
                del one.x
            with pytest.raises(TypeError, match="unhashable"):
                hash(one)
        else:
            one.x = 5
            assert one.x == 5
        with pytest.raises(TypeError, match="missing 1 required"):
            each()
    half = len(results) // 2
    assert results[:half] == results[half:]


def test_equal_instances_have_equal_hashes():
    @quick(frozen=True)
    class Pair:
        one: Any
        other: Any = None

    assert len({Pair(1), Pair(1, None), Pair(1.0), Pair(2)}) == 2
    assert Pair(math.nan) == Pair(math.nan)


def test_methods_of_the_class_stay():
    @quick(frozen=True)
    class Named:
        name: str

        def __eq__(self, other):
            return self.name.lower() == other.name.lower()

        def __repr__(self):
            return self.name

        def __post_init__(self):
            object.__setattr__(self, "name", self.name.strip())

    assert (repr(Named(" a ")), Named("a") == Named("A")) == ("a", True)
    with pytest.raises(TypeError, match="non-default argument 'x' follows default argument"):
        quick(type("Late", (), {"__annotations__": {"y": int, "x": int}, "y": 1}))


def test_classes_derive_from_each_other():
    @quick(frozen=True)
    class Base:
        x: int

    @quick(frozen=True)
    class Derived(Base):
        y: int = 2

    assert Derived(1) == Derived(1, 2) and Derived(1) != Base(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived(1).x = 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        quick(type("Open", (Base,), {}))


def test_instances_with_slots_are_pickled():
    file = AddFile(path="a", partition_values={}, size=1, modification_time=2, data_change=True)
    assert pickle.loads(pickle.dumps(file)) == file
    assert not hasattr(file, "__dict__")
