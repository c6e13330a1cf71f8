"""Each server of the tests starts by its name, can be reached, and stops."""

import json
import re
import signal
import socket
import subprocess
import sys

import pytest

from tests.support.__main__ import NAMES
from tests.support.cloud_server import ACCOUNT
from tests.support.modules import ROOT
from tests.support.stores import SERVERS

BY_PROGRAMS = ("hive", *SERVERS)


def port_of(told) -> int:
    found = re.search(r"127\.0\.0\.1:(\d+)", json.dumps(told))
    assert found is not None, told
    return int(found[1])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in BY_PROGRAMS else []) for name in NAMES]
)
def test_a_server_starts_and_stops(name, tmp_path) -> None:
    if name == "hive":
        pytest.importorskip("pyspark")
    with NAMES[name](tmp_path, None) as told:
        socket.create_connection(("127.0.0.1", port_of(told)), 5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port_of(told)), 5)


def test_the_command_runs_a_server_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "tests.support", "google-azure"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = port_of(process.stdout.readline())
            assert ACCOUNT in process.stdout.readline()
            socket.create_connection(("127.0.0.1", port), 5).close()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
