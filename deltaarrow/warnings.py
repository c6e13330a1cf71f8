"""The warnings, under the name of the module that deltalake has them in."""

from deltaarrow.table.migration import ExperimentalWarning

__all__ = ["ExperimentalWarning"]
