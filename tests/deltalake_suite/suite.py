"""deltalake's own tests, run against deltaarrow under deltalake's name.

``python -m tests.deltalake_suite.suite FOLDER`` gets the source distribution of deltalake with pip, makes an
environment in the folder, runs the suite there, and compares what happens with `outcomes/`
(`tests.support.suite_outcomes`). Private are tests of private names, of internals of DataFusion and of the
words of native code. A test of public behaviour that asks `DeltaTable._table` for a URI on its way counts:
`deltalake_alias.py` answers it.

``--record`` writes the counts at the top of the files. Without a folder, the table of docs/from-deltalake.md
is printed from these.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

from tests.support.modules import ROOT
from tests.support.suite_outcomes import Counts, read_outcomes, read_report, report_on

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
    return read_report(Path(report), names), done.stdout


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
    return bool(report_on(passed, OUTCOMES, records=arguments.record))


if __name__ == "__main__":
    sys.exit(main())
