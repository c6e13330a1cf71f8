"""delta-spark's own Python tests, run with `delta.tables` replaced by `deltaarrow.spark.tables`.

``python -m tests.delta_spark_suite.suite FOLDER`` runs the tests of a checkout of delta's repository, beside
its jar, and compares what happens with `outcomes/` (`tests.support.suite_outcomes`). Private are tests of
objects of the JVM. ``--record`` writes the counts at the top of the files. ``--unchanged`` leaves the import
as it is, and so tells what fails in delta-spark itself, in the release that is installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.modules import ROOT
from tests.support.suite_outcomes import read_report, report_on

OUTCOMES = Path(__file__).parent / "outcomes"
TESTS = Path("python", "delta", "tests")
FILES = ("test_deltatable",)
"""The files about `delta.tables`. Others test the SQL and the errors of the jar, or how it is installed."""
MINUTES = 30


def run_files(checkout, names=FILES, *, changed=True):
    """Run files of a checkout; return for each whether its tests passed, by name, and the output."""
    with tempfile.TemporaryDirectory() as folder:
        # Beside the package `delta` of the checkout, tests would import that one.
        for name in names:
            shutil.copy(Path(checkout, TESTS, f"{name}.py"), folder)
        report = Path(folder, "report.xml")
        own = ["-p", "delta_alias", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
        asked = ["-q", "-W", "ignore", "--tb=short", f"--junitxml={report}"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *own, *asked, *(f"{name}.py" for name in names)],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
                **({} if changed else {"DELTAARROW_UNCHANGED": "1"}),
            },
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
        )
        if not report.exists():
            raise RuntimeError(f"the suite did not run: {done.stdout}{done.stderr}")
        return read_report(report, names), done.stdout


def main():
    """Run the suite and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="a checkout of delta's repository")
    parser.add_argument("--record", action="store_true", help="write the counts")
    parser.add_argument("--output", action="store_true", help="print what pytest says")
    parser.add_argument("--unchanged", action="store_true", help="test delta-spark itself")
    arguments = parser.parse_args()
    passed, output = run_files(arguments.checkout, changed=not arguments.unchanged)
    if arguments.output:
        print(output)
    if arguments.unchanged:
        failed = [test for tests in passed.values() for test, succeeded in tests.items() if not succeeded]
        print("\n".join(failed))
        return 0
    return bool(report_on(passed, OUTCOMES, records=arguments.record))


if __name__ == "__main__":
    sys.exit(main())
