"""The macros of the dbt adapter ``deltaarrow``, and where they are."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
