"""Every module says what it holds and what it offers, and stays small; so do its functions."""

import ast
import importlib
from pathlib import Path

import pytest

import deltaarrow
from tests.support.modules import ROOT, modules

LIMIT = 600
"""Lines a module may have; at about 500 ask whether a second concern has moved in."""
FRONT_DOOR = "deltaarrow.table.delta_table"
"""May be long: one class, whose methods are described at length and are one call downward each."""

MOST_ARGUMENTS = 8
"""Of a function that users do not call: what belongs together is a record."""

BARRED_NAMES = {"utils", "util", "helpers", "common", "misc"}

every_module = pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)


@every_module
def test_opens_with_a_paragraph_that_says_what_it_is(module):
    text = ast.get_docstring(module.tree)
    assert text, "no docstring"
    assert text.splitlines()[0].endswith((".", ":")), "the first line is a sentence"


@every_module
def test_is_small(module):
    if module.name == FRONT_DOOR:
        return
    assert len(module.text.splitlines()) <= LIMIT


def test_each_method_of_the_front_door_is_short():
    (module,) = (module for module in modules() if module.name == FRONT_DOOR)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            described = node.body[1:] if ast.get_docstring(node) else node.body
            assert sum(each.end_lineno - each.lineno + 1 for each in described) <= 20, node.name


@every_module
def test_functions_inside_the_package_take_few_arguments(module):
    """What users call may have more, in Python and in the shell: they leave most of them out."""
    offered = [getattr(deltaarrow, name) for name in deltaarrow.__all__]
    public = {each.__qualname__ for each in offered if getattr(each, "__module__", "") == module.name}
    if module.name.startswith("deltaarrow.table."):
        public |= _reached_from_the_table()
    inside = [(name, node) for name, node in _functions(module.tree) if not _is_called_by_users(name, public)]
    found = {name: count for name, node in inside if (count := _count_arguments(node)) > MOST_ARGUMENTS}
    assert found == {}, "take a record, or divide the function"


def _reached_from_the_table():
    """The classes of what users get from a table, such as ``table.optimize``, and their bases."""
    getters = [each.fget for each in vars(deltaarrow.DeltaTable).values() if isinstance(each, property)]
    names = {str(getter.__annotations__["return"]).strip("'\"") for getter in getters}
    inside = [each.name for each in modules() if each.name.startswith("deltaarrow.table.")]
    offered = {name: found for each in inside for name, found in vars(importlib.import_module(each)).items()}
    return names | {base.__name__ for name in names if name in offered for base in offered[name].__mro__}


def _functions(node, outer=""):
    """Every function in a tree that is no command, with its name inside the module, as ``Class.method``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not any(".command(" in ast.unparse(each) for each in child.decorator_list):
                yield outer + child.name, child
            yield from _functions(child, f"{outer}{child.name}.<locals>.")
        else:
            yield from _functions(
                child, f"{outer}{child.name}." if isinstance(child, ast.ClassDef) else outer
            )


def _is_called_by_users(name, public):
    owner, _, method = name.partition(".")
    return (
        owner in public
        and (method in ("__init__", "__call__") or not method.startswith("_"))
        and "." not in method
    )


def _count_arguments(node):
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([each for each in named if each.arg not in ("self", "cls")])


@every_module
def test_is_named_for_what_it_holds(module):
    assert module.name.rpartition(".")[2] not in BARRED_NAMES


@every_module
def test_all_is_true(module):
    loaded = importlib.import_module(module.name)
    listed = loaded.__all__
    assert len(set(listed)) == len(listed)
    absent = [name for name in listed if not hasattr(loaded, name)]
    assert absent == [], "__all__ lists what is not there"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = {node.name for node in module.tree.body if isinstance(node, kinds) and node.name[0] != "_"}
    assert public - set(listed) == set(), "public, but not in __all__"


@every_module
def test_what_is_imported_at_first_use_is_not_named_as_a_module_beside_it(module):
    """A module that is imported becomes an attribute of its package, which then asks for no name like it."""
    if module.is_package:
        imports = [node for node in module.tree.body if isinstance(node, ast.ImportFrom)]
        bound = {alias.name for node in imports for alias in node.names}
        names = {f"{module.name}.{name}" for name in importlib.import_module(module.name).__all__}
        lazy = names - {f"{module.name}.{name}" for name in bound}
        assert lazy.isdisjoint(each.name for each in modules())


def test_no_test_has_to_reach_a_module_by_a_text():
    """A function of the same name hides a module from ``import``; rename one of the two."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path.parent != Path(__file__).parent]
    assert [path.name for path in tests if "import_module(" in path.read_text(encoding="utf-8")] == []


@every_module
def test_a_forked_child_finds_no_lock_of_its_parents_threads(module):
    """`deltaarrow.runtime.fork_safety` has the lock, and the cached property without one."""
    if module.name == "deltaarrow.runtime.fork_safety":
        return
    barred = {"functools.cached_property"} | {f"threading.{name}" for name in _LOCKS}
    assert [name for name in _names_used(module.tree) if name in barred] == []


_LOCKS = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier")


def _names_used(tree):
    """The names that a module imports, or asks an imported module for, with their modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
