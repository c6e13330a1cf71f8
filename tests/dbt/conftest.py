"""The classes of dbt-tests-adapter run in an environment with dbt, which `tests.dbt.suite` makes."""

collect_ignore = ["adapter"]
