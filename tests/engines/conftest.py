from collections.abc import Callable
from typing import Any

import pytest

from tests.support.engines import ENGINES, open_snapshot


@pytest.fixture(params=ENGINES)
def engine(request) -> Callable[..., list[dict[str, Any]]]:
    """Read a table with one of the engines: `engine(path, columns, where)` returns its rows, sorted."""
    read = ENGINES[request.param]

    def rows(path, columns=None, where=None, version=None, **options):
        found = read(open_snapshot(path, version), columns, where, **options).to_pylist()
        return sorted(found, key=repr)

    rows.name = request.param
    return rows
