"""Every module says what it holds and what it offers, and stays small; so do its functions."""

import ast
import importlib
from pathlib import Path

import deltaarrow
from tests.support.modules import ROOT, modules

LIMIT = 600
"""Lines a module may have; at about 500 ask whether a second concern has moved in."""
FRONT_DOOR = "deltaarrow.table.delta_table"
"""May be long: one class, whose methods are described at length and are one call downward each."""

MOST_ARGUMENTS = 8
"""Of a function that users do not call: what belongs together is a record."""

BARRED_NAMES = {"utils", "util", "helpers", "common", "misc"}


def test_opens_with_a_paragraph_that_says_what_it_is():
    texts = {module.name: ast.get_docstring(module.tree) or "" for module in modules()}
    assert [name for name, text in texts.items() if not text] == [], "no docstring"
    unended = [name for name, text in texts.items() if not text.splitlines()[0].endswith((".", ":"))]
    assert unended == [], "the first line is a sentence"


def test_is_small():
    lengths = {each.name: len(each.text.splitlines()) for each in modules() if each.name != FRONT_DOOR}
    assert {name: length for name, length in lengths.items() if length > LIMIT} == {}


def test_each_method_of_the_front_door_is_short():
    (module,) = (module for module in modules() if module.name == FRONT_DOOR)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            described = node.body[1:] if ast.get_docstring(node) else node.body
            assert sum(each.end_lineno - each.lineno + 1 for each in described) <= 20, node.name


def test_functions_inside_the_package_take_few_arguments():
    """What users call may have more, in Python and in the shell: they leave most of them out."""
    offered = [getattr(deltaarrow, name) for name in deltaarrow.__all__]
    reached = _reached_from_the_table()
    found = {}
    for module in modules():
        public = {each.__qualname__ for each in offered if getattr(each, "__module__", "") == module.name}
        if module.name.startswith("deltaarrow.table."):
            public |= reached
        for name, node in _functions(module.tree):
            if not _is_called_by_users(name, public) and (count := _count_arguments(node)) > MOST_ARGUMENTS:
                found[f"{module.name}.{name}"] = count
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


def test_is_named_for_what_it_holds():
    assert [each.name for each in modules() if each.name.rpartition(".")[2] in BARRED_NAMES] == []


def test_all_is_true():
    twice, absent, unlisted = [], [], []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for module in modules():
        loaded = importlib.import_module(module.name)
        listed = loaded.__all__
        twice += [f"{module.name}.{name}" for name in set(listed) if listed.count(name) > 1]
        absent += [f"{module.name}.{name}" for name in listed if not hasattr(loaded, name)]
        public = {node.name for node in module.tree.body if isinstance(node, kinds) and node.name[0] != "_"}
        unlisted += [f"{module.name}.{name}" for name in public - set(listed)]
    assert twice == []
    assert absent == [], "__all__ lists what is not there"
    assert unlisted == [], "public, but not in __all__"


def test_what_is_imported_at_first_use_is_not_named_as_a_module_beside_it():
    """A module that is imported becomes an attribute of its package, which then asks for no name like it."""
    named = {each.name for each in modules()}
    found = set()
    for module in (each for each in modules() if each.is_package):
        imports = [node for node in module.tree.body if isinstance(node, ast.ImportFrom)]
        bound = {f"{module.name}.{alias.name}" for node in imports for alias in node.names}
        names = {f"{module.name}.{name}" for name in importlib.import_module(module.name).__all__}
        found |= (names - bound) & named
    assert found == set()


def test_a_lazy_package_offers_the_names_that_it_imports_as_themselves():
    for module in (each for each in modules() if "lazy_package(__name__)" in each.text):
        imports = [node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
        named = {each.name for node in imports for each in node.names if each.name == each.asname}
        assert importlib.import_module(module.name).__getattr__("__all__") == sorted(named), module.name


def test_no_test_has_to_reach_a_module_by_a_text():
    """A function of the same name hides a module from ``import``; rename one of the two."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path.parent != Path(__file__).parent]
    assert [path.name for path in tests if "import_module(" in path.read_text(encoding="utf-8")] == []


def test_a_forked_child_finds_no_lock_of_its_parents_threads():
    """`deltaarrow.runtime.fork_safety` has the lock, and the cached property without one."""
    barred = {"functools.cached_property"} | {f"threading.{name}" for name in _LOCKS}
    inside = [each for each in modules() if each.name != "deltaarrow.runtime.fork_safety"]
    used = [(module.name, name) for module in inside for name in _names_used(module.nodes)]
    assert [(module, name) for module, name in used if name in barred] == []


_LOCKS = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier")


def _names_used(nodes):
    """The names that a module imports, or asks an imported module for, with their modules."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
