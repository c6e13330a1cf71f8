"""The warnings, in the module where ``deltalake`` has them."""

from deltaarrow.table.native_stubs import ExperimentalWarning

__all__ = ["ExperimentalWarning"]
