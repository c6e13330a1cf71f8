"""The examples of deltalake's docstrings with the import changed, and how they are read and run."""

import subprocess
import sys

import pytest

from tests.deltalake_suite import guide, snippets
from tests.support.modules import ROOT

PAGE = """
=== "Python"
    ``` python
    >>> import deltalake
    >>> deltalake.write_deltalake("new", data)
    >>> for number in range(2):
    ...     print(number)
    0
    1
    ```

```rust
let table = 1;
```

```python
from deltalake import DeltaTable
assert DeltaTable("new").count() == 4
x  y
0  1
```

```python
DeltaTable("missing")
```
"""


def test_examples_are_read_without_their_output():
    first, second, third = map(snippets.strip_output, snippets.read_examples(PAGE))
    assert first.splitlines()[-2:] == ["for number in range(2):", "    print(number)"]
    assert second.endswith("count() == 4")
    assert third == 'DeltaTable("missing")'


def test_a_page_is_one_session_with_the_import_changed(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    errors = guide.run_page(path)
    assert list(errors) == ["page.0", "page.1", "page.2"]
    assert errors["page.0"] is errors["page.1"] is None
    assert type(errors["page.2"]).__name__ == "TableNotFoundError"


@pytest.mark.slow
def test_every_example_of_the_docstrings_runs_or_is_recorded():
    pytest.importorskip("deltalake")
    # Examples set variables of the environment, so they run in a process of their own.
    command = [sys.executable, "-W", "ignore", "-m", "tests.deltalake_suite.snippets"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not recorded" not in done.stdout
