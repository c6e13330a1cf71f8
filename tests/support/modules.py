"""The package's modules as syntax trees: names, text and imports, read without importing anything."""

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "Import", "Module", "modules"]

ROOT = Path(__file__).parents[2]
"""The folder of the project."""

PACKAGE = "deltaarrow"


@dataclass(frozen=True)
class Import:
    """One import of a module of the package: what is imported, and whether at the top of the module."""

    target: str
    line: int
    at_top: bool


@dataclass(frozen=True)
class Module:
    """A module of the package."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def part(self) -> str:
        """The top-level package or module that this one belongs to ("" for the package itself)."""
        return self.name.split(".")[1] if "." in self.name else ""

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[Import]:
        """The imports of the package's own modules, absolute names; relative ones are resolved."""
        found = []
        for node, at_top in _imports(self.tree, True):
            for target in self._targets(node):
                if target == PACKAGE or target.startswith(PACKAGE + "."):
                    found.append(Import(target, node.lineno, at_top))
        return found

    @cached_property
    def lazy_imports(self) -> list[Import]:
        """The modules of the package that are named in texts, to be imported at their first use."""
        texts = (node for node in self.nodes if isinstance(node, ast.Constant))
        named = _names() - {PACKAGE}
        return [Import(node.value, node.lineno, False) for node in texts if node.value in named]

    def _targets(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        base = node.module or ""
        if node.level:
            parents = self.name.split(".")
            kept = parents[: len(parents) - node.level + self.is_package]
            base = ".".join([*kept, node.module] if node.module else kept)
        known = _names()
        return [f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names]


def _imports(node: ast.AST, at_top: bool):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_top
        else:
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, at_top and not inner)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, by name."""
    found = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return tuple(found)


@cache
def _names() -> frozenset[str]:
    return frozenset(module.name for module in modules())
