"""Counts of requests to object stores by kind, and of bytes received, for each location."""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, cast

from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.storage.service import Service
from deltaarrow.storage.store import IoStats

__all__ = ["Tally", "counted", "tally_of"]

_KINDS = {
    "list_files": "lists",
    "find": "lists",
    "info": "heads",
    "info_and_tail": "heads",
    "read": "gets",
    "read_range": "gets",
    "put_if_absent": "puts",
    "write": "puts",
    "open_output": "puts",
    "delete": "deletes",
    "delete_all": "deletes",
}
"""Method of `Service` -> the kind of its request. The second argument of each is a path, or several."""


@dataclass
class Tally:
    """The running counts of a location; the fields are those of `IoStats`."""

    lists: int = 0
    heads: int = 0
    gets: int = 0
    puts: int = 0
    deletes: int = 0
    received_bytes: int = 0

    def stats(self) -> IoStats:
        """Return the counts as they are now."""
        return IoStats(*astuple(self))


class _CountingService:
    """Makes the requests of a service, and counts them for the location below which the path is."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tallies: dict[str, Tally] = {}
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._service, name)
        return self._counting(found, _KINDS[name]) if name in _KINDS else found

    def tally(self, root: str) -> Tally:
        with self._lock:
            return self._tallies.setdefault(root.strip("/"), Tally())

    def _counting(self, method: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(filesystem: Any, place: Any, *arguments: Any) -> Any:
            answer = method(filesystem, place, *arguments)
            data = answer[1] if isinstance(answer, tuple) else answer
            received = len(data) if isinstance(data, bytes) else 0
            path = place if isinstance(place, str) else next(iter(place), "")
            self._count(path, "gets" if received else kind, received)
            return answer

        return call

    def _count(self, path: str, kind: str, received_bytes: int) -> None:
        folder = path.strip("/")
        with self._lock:
            while folder:
                tally = self._tallies.get(folder)
                if tally is not None:
                    setattr(tally, kind, getattr(tally, kind) + 1)
                    tally.received_bytes += received_bytes
                    return
                folder = folder.rpartition("/")[0]


def counted(service: Service) -> Service:
    """Return the service with its requests counted."""
    return cast("Service", _CountingService(service))


def tally_of(service: Service, root: str) -> Tally:
    """Return the counts of a service below a path, from the first call of this on."""
    return cast("_CountingService", service).tally(root)
