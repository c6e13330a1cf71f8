"""HTTP servers of the tests, in a thread of this process: `serving`."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread

__all__ = ["serving"]


@contextmanager
def serving(server: HTTPServer) -> Iterator[None]:
    """Let a server answer while the block runs, and close it."""
    # By default it looks twice a second whether it is to end.
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
