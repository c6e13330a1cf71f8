import pytest

from tests.support.sharing_server import sharing_server
from tests.support.stores import s3_options
from tests.support.unity_server import unity_server

__all__ = ["s3_options"]


@pytest.fixture(scope="module")
def server():
    """A Unity Catalog server for the tests of a module."""
    with unity_server() as unity:
        yield unity


@pytest.fixture
def sharing():
    """A Delta Sharing server."""
    with sharing_server() as server:
        yield server
