"""Objects that a reader opens again cost no further question, and the memory for them is bounded."""

import contextlib
from typing import Any

import pytest

from deltaarrow.storage.object_bytes import OpenedObjects
from deltaarrow.storage.service import TAIL_BYTES, Service


class _Objects(Service):
    """Objects of one size, whose bytes tell their place; it counts what it is asked."""

    def __init__(self, size: int) -> None:
        self.data = bytes(number % 251 for number in range(size))
        self.asked: list[str] = []

    def info_and_tail(self, filesystem: Any, path: str) -> tuple[dict[str, Any], bytes]:
        self.asked.append("open")
        return {"name": path, "type": "file", "size": len(self.data)}, self.data[-TAIL_BYTES:]

    def read_range(self, filesystem: Any, path: str, offset: int, length: int) -> bytes:
        self.asked.append("range")
        return self.data[offset : offset + length]

    def reaching(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def fsspec_filesystem(self) -> None:
        return None


def opened(size: int) -> tuple[_Objects, OpenedObjects]:
    """A hundred objects, each opened once."""
    store = _Objects(size)
    objects: OpenedObjects = OpenedObjects(store, store)  # type: ignore[arg-type]
    for number in range(100):
        objects.open(f"t/{number}")
    store.asked.clear()
    return store, objects


def test_many_large_objects_are_opened_again_without_a_question() -> None:
    store, objects = opened(300_000)
    found = [objects.open(f"t/{number}") for number in range(100)]
    assert store.asked == []
    for each in (found[0], found[99]):
        assert each.read(10, 20_000) == store.data[10:20_000]
        assert each.read(299_000, None) == store.data[299_000:]
    # The end of the last ones is at hand.
    assert store.asked == ["range"] * 3


@pytest.mark.parametrize("size", [1000, 100_000])
def test_small_objects_are_read_whole_when_they_are_opened_again(size: int) -> None:
    store, objects = opened(size)
    for _ in range(2):
        assert objects.open("t/0").read(5, 900) == store.data[5:900]
    assert store.asked == (["open"] if size < TAIL_BYTES else ["open", "range"])
    store.asked.clear()
    objects.open("t/99")
    assert store.asked == []
