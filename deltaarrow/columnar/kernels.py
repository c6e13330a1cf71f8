"""`pyarrow.compute`, imported when one of its functions is used first.

The import takes a quarter of the time of `import pyarrow`, and small statements use none of its functions.
"""

import importlib
from typing import Any

__all__ = ["pc"]


class _Compute:
    """The module's attributes; each is found once."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(importlib.import_module("pyarrow.compute"), name)
        setattr(self, name, found)
        return found


pc: Any = _Compute()
"""The functions of `pyarrow.compute`."""
