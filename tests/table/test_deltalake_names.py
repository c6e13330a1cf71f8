import inspect
import pkgutil

import deltalake
import pytest

import deltaarrow

MODULES = ["exceptions", "fs", "query", "schema", "table", "transaction", "warnings", "writer"]

NOT_OURS = {
    # Types of arguments, and constants of what that release can do.
    *("FilterConjunctionType", "FilterDNFType", "FilterLiteralType", "FilterType", "PartitionFilterType"),
    *("FilePruningPredicateType", "FSCK_METRICS_FILES_REMOVED_LABEL", "DataType"),
    *("MAX_SUPPORTED_PYARROW_WRITER_VERSION", "MAX_SUPPORTED_READER_VERSION"),
    *("NOT_SUPPORTED_PYARROW_WRITER_VERSIONS", "NOT_SUPPORTED_READER_VERSION"),
    *("SUPPORTED_READER_FEATURES", "SUPPORTED_WRITER_FEATURES"),
    # Names that its modules import for themselves.
    *("DeltaField", "DeltaSchema", "logger", "Any", "Literal", "Union"),
    # A function of its native code; `DeltaTable.create_write_transaction` and `create` do the same.
    "create_table_with_add_actions",
}
"""Public names in modules of deltalake that are not offered under the same name."""

OTHER_MEMBERS = {
    # Tables with them cannot be read by Spark.
    "TableFeatures": {"TimestampNanos", "VariantTypePreview"},
}

OTHER_ARGUMENTS = {
    # An argument that only that package's own classes give.
    "Metadata": {"table"},
    "TableMerger": {"builder", "table"},
    "PrimitiveType": {"data_type"},
}
"""Arguments of deltalake that have another name here, by what takes them."""

OTHER_DEFAULTS = {
    # A struct without columns may be made, and options may be left out.
    *(("Schema", "fields"), ("StructType", "fields"), ("BloomFilterProperties", "set_bloom_filter_enabled")),
    # Partitions in names of folders are the only strategy.
    ("convert_to_deltalake", "partition_strategy"),
    *(("DeltaTableConfig", "without_files"), ("DeltaTableConfig", "log_buffer_size")),
    ("DeltaStorageHandler.open_append_stream", "metadata"),
    # A dictionary that is made anew.
    ("WriterProperties", "column_properties"),
}


def public_names(module):
    """The names that a module of deltalake offers: its `__all__`, or what it defines itself."""
    found = getattr(module, "__all__", None)
    if found is None:
        own = (module.__name__, None)
        found = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) in own and not inspect.ismodule(value)
        ]
    return {name for name in found if not name.startswith(("_", "Raw", "Py", "deprecate", "encode"))}


def pairs():
    """The classes and functions of both packages, and their methods, by name."""
    for place in (None, *MODULES):
        ours, theirs = (
            package if place is None else pkgutil.resolve_name(f"{package.__name__}.{place}")
            for package in (deltaarrow, deltalake)
        )
        for name in sorted(public_names(theirs) - NOT_OURS - {"__version__"}):
            mine, its = getattr(ours, name), getattr(theirs, name)
            yield name, mine, its
            for member in vars(its) if inspect.isclass(its) else ():
                is_offered = hasattr(mine, member) and not member.startswith("_")
                if is_offered and callable(getattr(its, member)):
                    yield f"{name}.{member}", getattr(mine, member), getattr(its, member)


@pytest.mark.parametrize("place", ["", *MODULES])
def test_modules_have_the_names_of_deltalake(place):
    ours, theirs = (
        pkgutil.resolve_name(f"{package}.{place}".rstrip(".")) for package in ("deltaarrow", "deltalake")
    )
    assert sorted(name for name in public_names(theirs) - NOT_OURS if not hasattr(ours, name)) == []


@pytest.mark.parametrize("place", MODULES)
def test_modules_are_attributes_of_the_package(place):
    assert inspect.ismodule(getattr(deltaarrow, place))


def test_classes_have_the_members_of_deltalake():
    # Attributes of frozen records are not attributes of the class.
    fields = {"configuration", "created_time", "description", "element_type", "fields", "id", "key_type"}
    fields |= {"name", "partition_columns", "type", "value_type", "app_id", "version"}
    absent = {
        name: sorted(more)
        for name, ours, theirs in pairs()
        if inspect.isclass(theirs)
        and (
            more := {each for each in dir(theirs) if not each.startswith("_") or each.startswith("__arrow_c")}
            - set(dir(ours))
            - fields
            - OTHER_MEMBERS.get(name, set())
        )
    }
    assert absent == {}


def test_arguments_have_the_names_and_defaults_of_deltalake():
    different = set()
    for name, ours, theirs in pairs():
        try:
            taken, given = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
        except (TypeError, ValueError):  # a class of native code
            continue
        if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
            continue
        for argument, parameter in given.items():
            if parameter.kind is parameter.VAR_POSITIONAL or argument in ("self", "cls"):
                continue
            # One name for the text or the Arrow type in all classes.
            is_form = name.endswith((".from_json", ".from_arrow")) and len(given) == 1
            if is_form or argument in OTHER_ARGUMENTS.get(name, ()) or (name, argument) in OTHER_DEFAULTS:
                continue
            if argument not in taken or repr(taken[argument].default) != repr(parameter.default):
                different.add((name, argument))
    assert different == set()


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
    assert ours[: len(theirs)] == theirs


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
