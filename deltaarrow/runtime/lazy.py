"""Public names that are imported at their first use, so that `import deltaarrow` stays quick.

pyarrow.dataset, duckdb, polars and sqlglot cost 80 to 380 ms each; a package whose modules need one of
them lists those modules here instead of importing them.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from deltaarrow.runtime.fork_safety import before_forks
from deltaarrow.runtime.gc_pause import gc_paused

__all__ = ["lazy_attributes"]


def lazy_attributes(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` for `package`: public name -> module that defines it.

    >>> load = lazy_attributes("deltaarrow", {"DeltaError": "deltaarrow.errors"})
    >>> load("DeltaError").__name__
    'DeltaError'
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # A child that begins during an import would wait for its end forever.
        with before_forks(), gc_paused():
            module = importlib.import_module(names[name])
        return getattr(module, name)

    return load
