"""The classes of dbt-tests-adapter, run in an environment of their own.

dbt pins libraries of others, so the everyday environment does not have it. ``python -m tests.dbt.suite``
makes one in a folder (a new one, unless it is given), runs `tests/dbt/adapter/` in it, and prints the table
of docs/dbt.md; ``--classes`` prints a line for each class.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.support.modules import ROOT

ADAPTER = ROOT / "tests" / "dbt" / "adapter"
NEEDED = ("dbt-tests-adapter==1.20.*", "pytest>=9", ".[dbt]")
AREAS = {
    "basic": "materialisations, ephemeral models, tests, docs",
    "incremental": "append, merge, delete+insert, microbatch, changes of columns",
    "constraints": "contracts, NOT NULL and CHECK",
    "persist_docs": "comments",
    "seeds": "seeds",
    "snapshots": "snapshots",
    "relations": "aliases, the cache, changes of kind, clones",
    "hooks": "hooks",
    "commands": "concurrency, `show`, `--empty`, `--sample`, Python models, stored failures, unit tests",
    "utils": "functions and types across databases",
}
"""The modules in the order of the table, and what their classes are about."""


def make_environment(folder):
    """Return the Python of an environment with dbt and the project, which is made unless it is there."""
    python = Path(folder) / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], cwd=ROOT, check=True)
    return python


def in_project():
    """The environment variables with which a process takes the package and the adapter from the project."""
    folders = os.pathsep.join([str(ROOT), str(ROOT / "sql")])
    return {**os.environ, "PYTHONPATH": folders, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def run_area(python, area, report):
    """Run the classes of an area; return the counts of passed and of all tests by class, and the output."""
    own = ["-c", os.devnull, "--rootdir", ADAPTER, "--confcutdir", ADAPTER, "-p", "no:cacheprovider"]
    asked = ["-q", "-W", "ignore", f"--junitxml={report}", ADAPTER / f"test_{area}.py"]
    done = subprocess.run(
        [python, "-m", "pytest", *own, *asked], cwd=ROOT, env=in_project(), capture_output=True, text=True
    )
    passed, total = collections.Counter(), collections.Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname").rpartition(".")[2]
        total[name] += 1
        passed[name] += not list(case)
    return passed, total, done.stdout


def main():
    """Print how many tests pass, of each area or of each class."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("environment", nargs="?", help="the folder of the environment")
    parser.add_argument("--classes", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = make_environment(arguments.environment or f"{folder}/environment")
        print("| Tests of | Classes | Passed | Of |\n|---|---|---|---|")
        sums = collections.Counter()
        for area, about in AREAS.items():
            passed, total, _ = run_area(python, area, f"{folder}/report.xml")
            sums.update(classes=len(total), passed=passed.total(), total=total.total())
            print(f"| {about} | {len(total)} | {passed.total()} | {total.total()} |", flush=True)
            if arguments.classes:
                for name in total:
                    print(f"    {name}: {passed[name]} of {total[name]}", flush=True)
        print(f"| all | {sums['classes']} | {sums['passed']} | {sums['total']} |")


if __name__ == "__main__":
    sys.exit(main())
