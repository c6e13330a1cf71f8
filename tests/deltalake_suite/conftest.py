"""The suite of deltalake runs in an environment of its own, which `tests.deltalake_suite.suite` makes."""

collect_ignore = ["deltalake_alias.py"]
