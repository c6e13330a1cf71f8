"""The warnings, in the module where ``deltalake`` has them."""

from deltaarrow.table.migration import ExperimentalWarning

__all__ = ["ExperimentalWarning"]
