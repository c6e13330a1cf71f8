"""Imports go only downward through the layers, and to the left inside a row."""

import ast
import importlib
from collections.abc import Iterable, Iterator

from tests.support.modules import PACKAGE, Module, modules

LAYERS: tuple[tuple[str, ...], ...] = (
    ("display", "errors", "exceptions", "runtime", "columnar", "version"),
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
    ("verify", "table", "query", "fs", "warnings", "writer"),
    ("sql",),
    ("spark", "pipeline", "cli", "__main__"),
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


def test_imports_go_down():
    found = [
        f"{module.name}:{imported.line} imports {imported.target}: {fault}"
        for module in modules()
        if module.name != PACKAGE
        for imported in [*module.imports, *module.lazy_imports]
        if (fault := _fault(module, imported.target))
    ]
    assert found == []


def _fault(module: Module, imported: str) -> str:
    """What is wrong with an import; nothing where it is right."""
    target = part_of(imported)
    if imported == PACKAGE:
        return "name the module that defines what is needed"
    if target not in RANK:
        return "give it a layer"
    if target != module.part and RANK[target] >= RANK[module.part]:
        return "that is not below"
    inside = [name for name in APART_MODULES if f"{module.name}.".startswith(f"{name}.")]
    if target in [*APART.get(module.part, ()), *(each for name in inside for each in APART_MODULES[name])]:
        return "they are to stay apart"
    return ""


def test_an_import_that_goes_up_is_found():
    named = {module.name: module for module in modules()}
    assert _fault(named["deltaarrow.log"], "deltaarrow.table") == "that is not below"
    assert _fault(named["deltaarrow.log"], "deltaarrow.spark_sql") == "they are to stay apart"
    assert _fault(named["deltaarrow.scan.tasks"], "deltaarrow.snapshot") == "they are to stay apart"
    assert _fault(named["deltaarrow.table"], "deltaarrow") == "name the module that defines what is needed"


def test_every_module_has_a_layer():
    assert [each.name for each in modules() if each.name != PACKAGE and each.part not in RANK] == []


def test_own_modules_are_imported_at_the_top():
    found = [(module.name, i.line, i.target) for module in modules() for i in module.imports if not i.at_top]
    assert found == []


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


def test_what_a_package_offers_is_imported_from_it():
    """So a name has one place; what a package does not offer is imported from the module that defines it."""
    past = [
        each for module in modules() if module.name != PACKAGE for each in _imports_past_a_package(module)
    ]
    assert past == [], "import it from the package"


def test_an_import_past_a_package_is_found() -> None:
    for code in (
        "from deltaarrow.log.state import LogState",
        "from deltaarrow.operations.optimize.plan import OptimizePlan",
        "from deltaarrow.spark_sql.queries.compiler import compile_query",
    ):
        nodes = [*ast.walk(ast.parse(code))]
        assert len([*_past_packages("deltaarrow.operations.drop_feature.step", nodes)]) == 1, code
    inside = [*ast.walk(ast.parse("from deltaarrow.operations.optimize.plan import OptimizePlan"))]
    assert [*_past_packages("deltaarrow.operations.optimize.bins", inside)] == []


def _imports_past_a_package(module: Module) -> Iterator[str]:
    for line, name in _past_packages(module.name, module.nodes):
        yield f"{module.name}:{line}: {name}"


def _past_packages(importing: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """The names that a module imports from inside a package, though the package offers them.

    A module inside the package itself imports from the module that defines a name.
    """
    for node in nodes:
        names = str(node.module).split(".") if isinstance(node, ast.ImportFrom) else []
        if names[:1] != [PACKAGE]:
            continue
        for length in range(2, len(names)):
            package = ".".join(names[:length])
            if not f"{importing}.".startswith(f"{package}."):
                offered = importlib.import_module(package).__all__
                yield from ((node.lineno, each.name) for each in node.names if each.name in offered)
