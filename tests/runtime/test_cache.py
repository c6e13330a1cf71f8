"""Cached data stays within one budget and is freed with its owner."""

import gc
import os
import threading

import numpy as np
import pytest

from deltaarrow.runtime import cache
from deltaarrow.runtime.cache import CacheSpace, set_cache_limit


@pytest.fixture(autouse=True)
def limit():
    set_cache_limit(4000)
    yield
    set_cache_limit()


def array(nbytes):
    return np.zeros(nbytes, np.uint8)


def test_a_thing_is_made_once():
    space, made = CacheSpace(), []
    for _ in range(2):
        assert space.find("a", lambda: made.append(1) or array(100)).nbytes == 100
    assert len(made) == 1


def test_what_failed_is_made_again():
    space = CacheSpace()
    with pytest.raises(ZeroDivisionError):
        space.find("a", lambda: 1 / 0)
    assert len(space.find("a", lambda: array(7))) == 7


def test_all_spaces_share_the_budget_and_what_was_asked_for_least_recently_goes():
    first, second = CacheSpace(), CacheSpace()
    for number in range(4):
        first.put(number, array(1000), 1000)
    assert first.get(0) is not None
    second.put(0, array(1000), 1000)
    assert first.get(1) is None
    assert first.get(0) is not None and second.get(0) is not None


def test_one_large_thing_does_not_drive_out_all_others():
    space = CacheSpace()
    space.put("small", array(10), 10)
    assert len(space.find("large", lambda: array(1001))) == 1001
    assert space.get("large") is None
    assert space.get("small") is not None


def test_nothing_is_kept_where_nothing_may_be():
    set_cache_limit(0)
    space = CacheSpace()
    space.put("empty", array(0), 0)
    assert space.get("empty") is None


def test_what_waits_for_a_cache_does_not_change_the_one_after_it():
    """Its entries are of another lock."""
    space = CacheSpace()
    waiting = threading.Thread(target=space.put, args=("a", array(10), 10))
    with cache._cache.lock:
        waiting.start()
        waiting.join(0.1)
        set_cache_limit(4000)
    waiting.join()
    assert cache._cache.entries.currsize == 0


def test_what_a_space_holds_goes_with_its_owner():
    space, other = CacheSpace(), CacheSpace()
    space.put("a", array(900), 900)
    del space
    gc.collect()
    assert other.get("a") is None
    assert cache._cache.entries.currsize == 0


@pytest.mark.parametrize(
    ("text", "size"), [("1kB", 1000), ("2 MiB", 2 << 20), ("3GB", 3 * 10**9), ("7B", 7), (12, 12)]
)
def test_limits_are_sizes(text, size):
    set_cache_limit(text)
    assert cache._cache.entries.maxsize == size


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5", -1, 1.5, True, None])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="the cache limit must be"):
        set_cache_limit(text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    holding, done = threading.Event(), threading.Event()

    def hold():
        with cache._cache.lock:
            holding.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait()
    child = os.fork()
    if not child:
        CacheSpace().put("a", array(10), 10)
        os._exit(0)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
