"""The lowest release of each dependency that the package allows, as a file of constraints for pip.

``docs/testing.md`` says how the suite runs with them.
"""

import re
import sys
import tomllib
from collections.abc import Iterable

from tests.support.modules import ROOT

__all__ = ["EXTRAS", "constraints", "main"]

EXTRAS = ("polars", "pandas", "cli")
"""The extras whose libraries are tried at their lowest; the others follow releases of services."""

_BOUND = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\[[^]]*\])?\s*(?:>=|==)\s*(?P<version>[\w.]+)")


def constraints(extras: Iterable[str] = EXTRAS) -> list[str]:
    """Return a line for each dependency of the package and of `extras`, such as ``numpy==2.0``.

    >>> "numpy==2.0" in constraints()
    True
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"]]
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    bounds = [_BOUND.match(each) for each in asked]
    return [f"{bound['name']}=={bound['version']}" for bound in bounds if bound is not None]


def main() -> None:
    """Print the constraints."""
    sys.stdout.write("".join(f"{line}\n" for line in constraints()))


if __name__ == "__main__":
    main()
