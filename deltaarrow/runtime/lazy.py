"""Public names that are imported on first use, so that `import deltaarrow` stays quick.

pyarrow.dataset, duckdb, polars and sqlglot cost 80 to 380 ms each; a package whose modules need one of them
lists those modules here instead of importing them.
"""

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.runtime.fork_safety import before_forks
from deltaarrow.runtime.gc_pause import importing

__all__ = ["lazy_attributes", "lazy_package"]

_IMPORTS = re.compile(r"^ *from (?P<module>\S+) import\b|\b(?P<name>\w+) as (?P=name)\b", re.MULTILINE)
"""A module that names are imported from, or a name that is imported as itself."""


def lazy_package(package: str, known_elsewhere: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` for a package that lists its public names once.

    These are the names that its ``__init__.py`` imports as themselves (``from a.b import c as c``), under
    ``TYPE_CHECKING``, where nothing is imported, or elsewhere. They are also its ``__all__``. The error for a
    name that users know from other packages says what to use: `known_elsewhere` has these.

    >>> lazy_package("deltaarrow.table")("DeltaTable").__name__
    'DeltaTable'
    """

    @cache
    def offered() -> dict[str, str]:
        source: str = sys.modules[package].__loader__.get_source(package)  # type: ignore[union-attr]
        found, module = {}, ""
        for each in _IMPORTS.finditer(source):
            module = each["module"] or module
            if each["name"]:
                found[each["name"]] = module
        return found

    def load(name: str) -> Any:
        if name == "__all__":
            return sorted(offered())
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if known_elsewhere and name in known_elsewhere:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; use {known_elsewhere[name]}")
        found = lazy_attributes(package, offered())(name)
        setattr(sys.modules[package], name, found)  # `load` is not called for this name again.
        return found

    return load


def lazy_attributes(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` for `package`: public name -> module that defines it.

    >>> load = lazy_attributes("deltaarrow", {"DeltaError": "deltaarrow.errors"})
    >>> load("DeltaError").__name__
    'DeltaError'
    """

    def load(name: str) -> Any:
        if name not in names:
            meant = "" if name.startswith("_") else did_you_mean(name, names)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        # A child forked during an import would wait forever for it to end.
        with before_forks(), importing():
            module = importlib.import_module(names[name])
        return getattr(module, name)

    return load
