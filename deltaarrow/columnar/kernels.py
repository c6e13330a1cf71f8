"""`pyarrow.compute`, imported when one of its functions is first used.

The import takes a quarter of the time of `import pyarrow`, because it writes and documents a Python function
for each kernel. The kernels that every small statement uses are called without these functions.
"""

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["pc"]

_WITHOUT_OPTIONS = frozenset({"any", "binary_length", "is_nan", "max", "min_max"})


class _Compute:
    """The module's attributes; each is found once."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _kernel(name) if name in _WITHOUT_OPTIONS else _from_module(name)
        setattr(self, name, found)
        return found


def _from_module(name: str) -> Any:
    return getattr(importlib.import_module("pyarrow.compute"), name)


def _kernel(name: str) -> Callable[..., Any]:
    """A function of the module, which is imported only for calls with options."""
    # `pyarrow.compute.call_function` is this one.
    from pyarrow._compute import call_function

    def function(*values: Any, **options: Any) -> Any:
        if options:
            return _from_module(name)(*values, **options)
        return call_function(name, list(values))

    return function


pc: Any = _Compute()
"""The functions of `pyarrow.compute`."""
