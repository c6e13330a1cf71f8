"""deltalake's own tests, run against deltaarrow under deltalake's name.

``python -m tests.deltalake_suite.suite FOLDER`` gets the source distribution of deltalake with pip, makes an
environment in the folder, runs the suite there, and compares what happens with `outcomes/`: one file for each
file of the suite, which names every test that fails, with the reason:

* ``private``: the test does not concern public behaviour (private names, internals of DataFusion, words of
  the messages of native code), and is left out of the count. A test of public behaviour that asks
  `DeltaTable._table` for a URI on its way counts: `deltalake_alias.py` answers it.
* ``spark``: it does, and wants what Spark does not do; deltaarrow does as Spark does.
* ``differs``: it does, and deltaarrow differs or refuses, as the reason says.

A key is the name of a test, for all its cases, or of one case. Every test named there has to fail, and every
other to pass. ``--record`` writes the counts at the top of the files. Without a folder, the table of
docs/from-deltalake.md is printed from these.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

from tests.support.modules import ROOT

RELEASE = "1.6.6"
OUTCOMES = Path(__file__).parent / "outcomes"
NEEDED = (
    *(
        f"deltalake=={RELEASE}",
        "arro3-io",
        "pytest>=9",
        "pytest-mock",
        "pytest-timeout",
        "azure-storage-blob",
    ),
    *("lakefs", ".[polars,pandas]"),
)
"""What the suite imports; deltalake itself is there for its dependencies alone."""
SERVICES = (
    *("integration", "benchmark", "no_pyarrow", "datafusion", "opentelemetry", "lakefs", "s3", "azure"),
    *("unitycatalog_databricks", "unitycatalog_oss"),
)
"""Marks of tests that are not run: they need services, or are skipped by deltalake's own settings."""
SKIPPED = ("test_benchmark", "pyspark_integration", "data_acceptance")
"""Files that measure, or that start Spark or compare with tables that are not in the distribution."""
MINUTES = 10


KINDS = ("private", "spark", "differs")
"""Why a test is recorded, in the order of the docstring above."""


class Counts(NamedTuple):
    """How many tests of a file were run, and how many of each kind fail."""

    run: int = 0
    private: int = 0
    spark: int = 0
    differs: int = 0

    @property
    def public(self):
        return self.run - self.private

    @property
    def passed(self):
        return self.public - self.spark - self.differs


class Outcomes(NamedTuple):
    """What a file of `outcomes/` records: its counts, and the reasons of failing tests by name."""

    counts: Counts
    reasons: dict[str, dict[str, str]]

    def kind(self, test):
        """Return what is recorded of a test: one of `KINDS`, or None if it has to pass."""
        names = {test, test.partition("[")[0]}
        return next((kind for kind in KINDS if names & self.reasons[kind].keys()), None)


def read_outcomes(path):
    """Read what is recorded of a file of the suite; nothing, if there is no such file."""
    found = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return Outcomes(Counts(**found.get("counts", {})), {kind: found.get(kind, {}) for kind in KINDS})


def make_suite(folder):
    """Return the folder in which the suite runs; it is fetched and unpacked unless it is there."""
    suite = Path(folder) / f"deltalake-{RELEASE}"
    if not suite.exists():
        command = ["download", "--quiet", "--no-deps", "--no-binary", "deltalake", f"deltalake=={RELEASE}"]
        subprocess.run([sys.executable, "-m", "pip", *command, "--dest", folder], check=True)
        with tarfile.open(suite.with_name(f"{suite.name}.tar.gz")) as archive:
            # The package itself stays out: the working folder is on the path of imports.
            inner = (f"{suite.name}/python/tests/", f"{suite.name}/crates/test/tests/data/")
            archive.extractall(
                folder, [each for each in archive if each.name.startswith(inner)], filter="data"
            )
    return suite / "python"


def make_environment(folder):
    """Return the Python of an environment with what the suite imports; it is made unless it is there."""
    python = Path(folder) / "environment" / "bin" / "python"
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], cwd=ROOT, check=True)
    return python


def list_files(suite):
    """The names of the files of the suite that are run, without `.py`."""
    return sorted(path.stem for path in suite.glob("tests/test_*.py") if path.stem not in SKIPPED)


def run_files(python, suite, names, report):
    """Run files of the suite; return for each whether its tests passed, by name, and the output."""
    # `tests` is a package there, which hides ours, so the plugin's name is of its own.
    own = ["-p", "deltalake_alias", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    chosen = " and ".join(f"not {mark}" for mark in SERVICES)
    asked = ["-q", "-W", "ignore", "--tb=short", "--timeout=120", "-m", chosen, f"--junitxml={report}"]
    done = subprocess.run(
        [python, "-m", "pytest", *own, *asked, *(f"tests/{name}.py" for name in names)],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])},
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
    )
    if not Path(report).exists():
        raise RuntimeError(f"the suite did not run: {done.stdout}{done.stderr}")
    passed = {name: {} for name in names}
    for case in ElementTree.parse(report).iter("testcase"):
        results = {each.tag for each in case} - {"system-out", "system-err", "properties"}
        if "skipped" not in results:
            name = case.get("classname").rpartition(".")[2] or case.get("name").rpartition(".")[2]
            passed.setdefault(name, {})[case.get("name")] = not results
    return passed, done.stdout


def compare(name, passed, outcomes):
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


def record(name, counts):
    """Write the counts of a file at its top."""
    path = OUTCOMES / f"{name}.toml"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    values = ", ".join(f"{field} = {value}" for field, value in counts._asdict().items())
    path.write_text(f"counts = {{ {values} }}\n" + re.sub(r"\Acounts = .*\n", "", text), encoding="utf-8")


def render_table():
    """The table of docs/from-deltalake.md, from what is recorded."""
    counts = {path.stem: read_outcomes(path).counts for path in sorted(OUTCOMES.glob("*.toml"))}
    total = Counts(*map(sum, zip(*counts.values(), strict=True)))
    rows = [
        "| Tests of | Public behaviour | Passed | As Spark | Differs | Private |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in [*counts.items(), ("all", total)]:
        if each.run:
            shown = name.removeprefix("test_").replace("_", " ")
            numbers = (each.public, each.passed, each.spark, each.differs, each.private)
            rows.append(f"| {shown} | {' | '.join(map(str, numbers))} |")
    settled = total.passed / (total.public - total.spark)
    shares = f"{total.passed / total.public:.1%} of the tests of public behaviour pass"
    return "\n".join([*rows, "", f"{shares}, and {settled:.1%} of those that do not contradict Spark."])


def main():
    """Run the suite and compare, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", help="for the suite and the environment")
    parser.add_argument("files", nargs="*", help="files of the suite, such as test_schema; all by default")
    parser.add_argument("--python", help="of an environment that is there, instead of making one")
    parser.add_argument("--record", action="store_true", help="write the counts")
    parser.add_argument("--output", action="store_true", help="print what pytest says")
    arguments = parser.parse_args()
    if not arguments.folder:
        print(render_table())
        return 0
    folder = Path(arguments.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    python, suite = arguments.python or make_environment(folder), make_suite(folder)
    passed, output = run_files(
        python, suite, arguments.files or list_files(suite), folder / f"report-{os.getpid()}.xml"
    )
    if arguments.output:
        print(output)
    unexpected = []
    for name, tests in passed.items():
        counts, lines = compare(name, tests, read_outcomes(OUTCOMES / f"{name}.toml"))
        unexpected += lines
        print(f"{name}: {counts.passed} of {counts.public} pass, {counts.private} are private")
        if arguments.record:
            record(name, counts)
    print("\n".join(unexpected))
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())
