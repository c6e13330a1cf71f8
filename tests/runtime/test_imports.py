"""What imports leave to the garbage collector."""

import gc
import subprocess
import sys

import pytest

from deltaarrow.runtime.gc_pause import importing
from tests.support.modules import ROOT

SCRIPT = """
import gc
{before}
scans = []
gc.callbacks.append(lambda phase, info: scans.append(info["generation"]) if phase == "start" else None)
gc.set_threshold(100, 1, 1)
from deltaarrow.runtime.gc_pause import importing
del scans[:]
with importing():
    import email.message
print(len(scans), gc.isenabled(), gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", "0 True False"),
        ("gc.disable()", "0 False False"),
        ("gc.freeze()", "1 True True"),
    ],
    ids=["enabled", "disabled", "frozen"],
)
def test_objects_of_new_modules_are_not_scanned_and_what_the_program_has_frozen_stays_so(before, said):
    command = [sys.executable, "-c", SCRIPT.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == said


def test_an_import_that_finds_its_module_leaves_the_count_of_young_objects():
    """A loop that imports again and again must not keep the collector from running."""
    gc.collect()
    kept = [[] for _ in range(300)]
    before = gc.get_count()[0]
    with importing():
        import deltaarrow  # noqa: F401
    assert len(kept) == 300
    assert gc.get_count()[0] >= before >= 300
