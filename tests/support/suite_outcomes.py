"""What the tests of another project do under its name, and what is recorded of it.

A folder of outcomes has one file for each file of the suite, which names every test that fails, with the
reason, below one of `KINDS`:

* ``private``: the test does not concern public behaviour, and is left out of the count;
* ``spark``: it does, and wants what Spark does not do; deltaarrow does as Spark does;
* ``differs``: it does, and deltaarrow differs or refuses, as the reason says.

A key is the name of a test, for all its cases, or of one case. Every test named there has to fail, and every
other to pass.
"""

import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["KINDS", "Counts", "Outcomes", "compare", "read_outcomes", "read_report", "record", "report_on"]

KINDS = ("private", "spark", "differs")
"""Why a test is recorded, in the order of the docstring above."""


class Counts(NamedTuple):
    """How many tests of a file were run, and how many of each kind fail."""

    run: int = 0
    private: int = 0
    spark: int = 0
    differs: int = 0

    @property
    def public(self) -> int:
        """How many concern public behaviour."""
        return self.run - self.private

    @property
    def passed(self) -> int:
        """How many of these pass."""
        return self.public - self.spark - self.differs


class Outcomes(NamedTuple):
    """What is recorded of a file: its counts, and the reasons of failing tests by name."""

    counts: Counts
    reasons: Mapping[str, Mapping[str, str]]

    def kind(self, test: str) -> str | None:
        """Return what is recorded of a test: one of `KINDS`, or None if it has to pass."""
        names = {test, test.partition("[")[0]}
        return next((kind for kind in KINDS if names & self.reasons[kind].keys()), None)


def read_outcomes(path: Path) -> Outcomes:
    """Read what is recorded of a file of the suite; nothing, if there is no such file."""
    found = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return Outcomes(Counts(**found.get("counts", {})), {kind: found.get(kind, {}) for kind in KINDS})


def read_report(report: Path, names: Iterable[str]) -> dict[str, dict[str, bool]]:
    """Read a report of pytest; return for each file whether its tests passed, by name."""
    passed: dict[str, dict[str, bool]] = {name: {} for name in names}
    for case in ElementTree.parse(report).iter("testcase"):
        results = {each.tag for each in case} - {"system-out", "system-err", "properties"}
        if "skipped" not in results:
            test, owner = case.get("name", ""), case.get("classname", "")
            file = next((each for each in reversed(owner.split(".")) if each in passed), None)
            name = file or owner.rpartition(".")[2] or test.rpartition(".")[2]
            passed.setdefault(name, {})[test] = not results
    return passed


def compare(name: str, passed: Mapping[str, bool], outcomes: Outcomes) -> tuple[Counts, list[str]]:
    """Return the counts of a file, and a line for each test that did not do what is recorded."""
    found, lines = dict.fromkeys(KINDS, 0), []
    for test, succeeded in passed.items():
        kind = outcomes.kind(test)
        if kind == "private" or not succeeded:
            found[kind or "differs"] += 1
        if succeeded == (kind is not None):
            done = "passed" if succeeded else "failed"
            lines.append(f"{name}: {test} {done}, recorded: {kind or 'passes'}")
    named = {each.partition("[")[0] for each in passed} | passed.keys()
    gone = {test for tests in outcomes.reasons.values() for test in tests} - named
    lines += [f"{name}: there is no test {each}" for each in sorted(gone)]
    return Counts(len(passed), **found), lines


def record(path: Path, counts: Counts) -> None:
    """Write the counts of a file at its top."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    values = ", ".join(f"{field} = {value}" for field, value in counts._asdict().items())
    path.write_text(f"counts = {{ {values} }}\n" + re.sub(r"\Acounts = .*\n", "", text), encoding="utf-8")


def report_on(passed: Mapping[str, Mapping[str, bool]], folder: Path, *, records: bool) -> list[str]:
    """Print the counts of files, write them if asked to, and return what is not as recorded."""
    unexpected = []
    for name, tests in passed.items():
        path = folder / f"{name}.toml"
        counts, lines = compare(name, tests, read_outcomes(path))
        unexpected += lines
        print(f"{name}: {counts.passed} of {counts.public} pass, {counts.private} are private")
        if records:
            record(path, counts)
    print("\n".join(unexpected))
    return unexpected
