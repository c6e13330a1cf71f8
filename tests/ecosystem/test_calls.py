"""Every call that `docs/reference/ecosystem.md` counts gives the rows of the table, and those alone."""

import re
import sys
from importlib.metadata import version

import pytest

import deltaarrow as da
from tests.ecosystem.calls import SMALL
from tests.ecosystem.large_libraries import LARGE
from tests.ecosystem.page import PAGE, written

pytestmark = pytest.mark.filterwarnings("ignore")  # what the libraries warn of among themselves


@pytest.fixture(scope="module", autouse=True)
def shut_down():
    """Let a cluster that a call has started serve the calls after it, and end with the last one."""
    yield
    if (ray := sys.modules.get("ray")) is not None:
        ray.shutdown()


def as_parameter(call, *marks):
    return pytest.param(call, id=f"{call.library}: {call.text}", marks=marks)


def in_order(found):
    """Rows by their number, as dictionaries."""
    rows = found if isinstance(found, list) else found.to_pylist()
    return sorted(rows, key=lambda row: row["id"])


@pytest.mark.parametrize(
    "call", [*map(as_parameter, SMALL), *(as_parameter(call, pytest.mark.slow) for call in LARGE)]
)
def test_a_call_gives_the_rows_of_the_table_or_the_error_of_the_page(call, table_of_shape, given):
    pytest.importorskip(call.library)
    if call.since and int(version(call.library).partition(".")[0]) < call.since:
        with pytest.raises(AttributeError):
            call.run(given)
        return
    shape, table = table_of_shape
    if shape == "nested" and not call.nested:
        with pytest.raises(Exception, match=r"."):  # the library's own, whatever it is
            call.run(given)
        return
    if call.error is not None:
        with pytest.raises(call.error, match=re.escape(call.told)):
            call.run(given)
        assert da.DeltaTable(table.table_uri).version() == table.version()
        return
    rows = table.to_pyarrow_table().to_pylist()
    assert len(rows) == 27
    assert not any(row["id"] % 10 == 3 for row in rows)
    assert in_order(call.run(given)) == in_order(call.wanted(rows))


def test_the_page_has_the_calls():
    assert PAGE.read_text(encoding="utf-8") == written(PAGE.read_text(encoding="utf-8"))
