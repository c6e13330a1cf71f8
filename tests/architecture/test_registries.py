"""Lists that are written twice, for readers, agree with the code."""

import re
import tomllib

import deltaarrow.errors
from deltaarrow.errors import DeltaError
from deltaarrow.runtime.optional import EXTRAS
from tests.support.modules import ROOT

GROUPS = {"all", "bench", "dbt", "docs", "ecosystem", "spark-delta", "test"}
"""Extras that are collections, repeat another, or are for dbt, which imports this package.

Every other brings an integration.
"""


def test_the_drawn_error_tree_is_the_class_tree():
    drawn, parents = {}, []
    for line in deltaarrow.errors.__doc__.splitlines():
        found = re.match(r"    ([│├└─ ]*)(\w+(?:Error|Exception))\b", line)
        if found:
            depth = len(found[1]) // 4
            parents[depth:] = [found[2]]
            drawn[found[2]] = parents[depth - 1] if depth else "Exception"
    public = (getattr(deltaarrow.errors, name) for name in deltaarrow.errors.__all__)
    classes = {cls.__name__: cls for cls in public if not issubclass(cls, Warning)}
    assert drawn == {name: cls.__bases__[0].__name__ for name, cls in classes.items()}
    assert all(issubclass(cls, DeltaError) for cls in classes.values())


def test_optional_libraries_are_the_extras_of_the_project():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) == set(extras) - GROUPS
    for module, extra in EXTRAS.items():
        distributions = {re.split(r"[^\w-]", requirement)[0] for requirement in extras[extra]}
        assert module.replace("_", "-") in distributions, f"extra {extra} does not install {module}"
    everything = re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    assert set(everything) == (set(extras) - GROUPS) | {"bench"}
    assert set(EXTRAS.values()) <= set(re.search(r"\[(.*)\]", extras["test"][0])[1].split(","))
