"""Imports go only downward through the layers, and to the left inside a row."""

import ast
import importlib

import pytest

from tests.support.modules import PACKAGE, modules

LAYERS: tuple[tuple[str, ...], ...] = (
    ("display", "errors", "runtime", "columnar", "version"),
    ("storage", "schema", "compute"),
    ("expressions", "partitions", "deletion_vectors", "variant", "spark_sql"),
    ("actions", "statistics"),
    ("features",),
    ("log",),
    ("live_files",),
    ("snapshot",),
    ("scan", "write"),
    ("transaction", "iceberg", "catalogs"),
    ("engines", "operations"),
    ("verify", "table", "spark"),
    ("sql",),
    ("pipeline", "cli", "__main__"),
)
"""The rows of the architecture, lowest first; inside a row a part may use those to its left."""

RANK = {part: (row, place) for row, parts in enumerate(LAYERS) for place, part in enumerate(parts)}

APART = {
    "log": ("expressions", "spark_sql"),
    "write": ("log", "snapshot", "scan"),
    "operations": ("engines",),
    "schema": ("storage",),
    "partitions": ("expressions",),
    "deletion_vectors": ("expressions", "partitions"),
    "variant": ("expressions", "deletion_vectors"),
}
"""part -> lower parts that it must not know all the same."""

APART_MODULES = {"deltaarrow.scan.tasks": ("snapshot", "log")}
"""The same for single modules: tasks travel to executors, which have no snapshot."""


def part_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_imports_go_down(module):
    if module.name == PACKAGE:
        return
    for imported in [*module.imports, *module.lazy_imports]:
        where = f"{module.name}:{imported.line} imports {imported.target}"
        assert imported.target != PACKAGE, f"{where}: name the module that defines what is needed"
        target = part_of(imported.target)
        assert target in RANK, f"{where}: give it a layer"
        if target != module.part:
            assert RANK[target] < RANK[module.part], f"{where}: that is not below"
        assert target not in APART.get(module.part, ()), f"{where}: they are to stay apart"
        for name, apart in APART_MODULES.items():
            if module.name == name or module.name.startswith(name + "."):
                assert target not in apart, f"{where}: they are to stay apart"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_every_module_has_a_layer(module):
    assert module.name == PACKAGE or module.part in RANK


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_own_modules_are_imported_at_the_top(module):
    assert [f"{i.line}: {i.target}" for i in module.imports if not i.at_top] == []


def test_no_import_cycles():
    graph = {module.name: {i.target for i in module.imports if i.at_top} for module in modules()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for target in sorted(graph.get(name, ())):
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_what_a_package_offers_is_imported_from_it(module):
    """So a name has one place; what a package does not offer is imported from the module that defines it."""
    if module.name == PACKAGE:
        return
    past = []
    for node in ast.walk(module.tree):
        names = str(node.module).split(".") if isinstance(node, ast.ImportFrom) else []
        if names[:1] != [PACKAGE] or len(names) < 3:
            continue
        package = ".".join(names[:2])
        if part_of(package) != module.part:
            offered = importlib.import_module(package).__all__
            past += [f"{node.lineno}: {each.name}" for each in node.names if each.name in offered]
    assert not past, "import it from the package"
