"""The profile under which the classes of dbt-tests-adapter run, each in a lake of its own."""

import os
import sys

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory):
    return {"type": "deltaarrow", "root": str(tmp_path_factory.mktemp("lake")), "threads": 2}


@pytest.fixture(scope="class")
def profile_user():
    """The owner of tables: Delta knows none."""


@pytest.fixture(scope="class")
def test_data_dir(request):
    """The folder of the files that come with the module of a class of dbt-tests-adapter."""
    module = next(each.__module__ for each in request.cls.__mro__ if each.__module__.startswith("dbt.tests."))
    folder = os.path.dirname(sys.modules[module].__file__)
    data = os.path.join(folder, "data")
    return data if os.path.isdir(data) else folder


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory, monkeypatch_class):
    """dbt's folder of logs, outside the project."""
    folder = str(tmp_path_factory.mktemp("logs"))
    monkeypatch_class.setenv("DBT_LOG_PATH", folder)
    return folder


@pytest.fixture(scope="class")
def monkeypatch_class():
    with pytest.MonkeyPatch.context() as patch:
        yield patch
