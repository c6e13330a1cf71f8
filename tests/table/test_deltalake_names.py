import inspect

import deltalake
import pytest

import deltaarrow

METHODS = [
    name
    for name, member in inspect.getmembers(deltaarrow.DeltaTable, callable)
    if not name.startswith("_") and hasattr(deltalake.DeltaTable, name)
]


def parameters(function) -> list[str]:
    return [p for p in inspect.signature(function).parameters if p not in ("self", "cls", "args")]


def test_there_is_something_to_compare():
    assert {"create", "history", "to_pyarrow_table", "get_add_actions", "load_as_version"} <= set(METHODS)


@pytest.mark.parametrize("name", ["__init__", *METHODS])
def test_a_method_has_the_arguments_of_deltalake_in_its_order(name):
    ours = parameters(getattr(deltaarrow.DeltaTable, name))
    theirs = parameters(getattr(deltalake.DeltaTable, name))
    missing = [p for p in theirs if p not in ours]
    assert missing in ([], ["post_commithook_properties", "raise_if_key_not_exists"])
    assert ours[: len(theirs) - len(missing)] == [p for p in theirs if p in ours]


def test_write_deltalake_has_the_arguments_of_deltalake():
    ours, theirs = (inspect.signature(m.write_deltalake).parameters for m in (deltaarrow, deltalake))
    assert set(theirs) <= set(ours)
    assert {p: theirs[p].default for p in theirs} == {p: ours[p].default for p in theirs}


def test_convert_to_deltalake_has_the_arguments_of_deltalake():
    ours, theirs = (inspect.signature(m.convert_to_deltalake).parameters for m in (deltaarrow, deltalake))
    assert set(theirs) - {"args"} <= set(ours)
    assert list(ours)[:8] == list(theirs)[:8]


@pytest.mark.parametrize(
    "name", ["CommitProperties", "PostCommitHookProperties", "WriterProperties", "Transaction"]
)
def test_properties_have_the_arguments_of_deltalake(name):
    ours, theirs = parameters(getattr(deltaarrow, name)), parameters(getattr(deltalake, name))
    more = {"PostCommitHookProperties": ["auto_compact"]}.get(name, [])
    assert ours == [*theirs, *more]


@pytest.mark.parametrize("name", deltalake.exceptions.__all__)
def test_exceptions_have_the_names_of_deltalake(name):
    assert issubclass(getattr(deltaarrow, name), deltaarrow.DeltaError)
