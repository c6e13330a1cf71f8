"""The version of the adapter, which dbt shows."""

from deltaarrow.version import VERSION

version = VERSION
