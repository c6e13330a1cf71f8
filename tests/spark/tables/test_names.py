"""The names, arguments and defaults of `delta.tables`, which `deltaarrow.spark.tables` has too."""

import inspect

import pytest


def _public(owner):
    return {name: getattr(owner, name) for name in vars(owner) if not name.startswith("_")}


def _arguments(method):
    return [
        (each.name, each.kind, None if each.default in ({}, inspect.Parameter.empty) else each.default)
        for each in inspect.signature(method).parameters.values()
    ]


def test_every_name_of_delta_spark_is_there_with_its_arguments_and_defaults():
    theirs_module = pytest.importorskip("delta.tables")
    import deltaarrow.spark.tables as ours_module

    theirs = {
        name: found
        for name, found in vars(theirs_module).items()
        if inspect.isclass(found) and found.__module__ == "delta.tables"
    }
    ours = {name: getattr(ours_module, name) for name in ours_module.__all__}
    assert set(theirs) == set(ours_module.__all__)
    compared = 0
    for name, owner in theirs.items():
        methods = _public(owner)
        assert methods.keys() <= _public(ours[name]).keys(), name
        for method, found in methods.items():
            if not callable(found):
                assert _public(ours[name])[method] == found
                continue
            assert _arguments(_public(ours[name])[method]) == _arguments(found), f"{name}.{method}"
            compared += 1
    assert compared > 40


def test_an_identity_generator_counts_from_one_by_one():
    from deltaarrow.spark.tables import IdentityGenerator

    assert IdentityGenerator() == IdentityGenerator(1, 1)
    assert IdentityGenerator(start=5).step == 1
