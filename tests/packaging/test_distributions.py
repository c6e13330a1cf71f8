"""The wheel and the source distribution: what is in them, and that they work where nothing else is.

``mypy`` checks `tests/packaging/script.py` against the sources; here also against the wheel.
"""

import os
import re
import shutil
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from deltaarrow.version import VERSION
from tests.packaging import script
from tests.support.lowest import constraints
from tests.support.modules import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LEFT_OUT = (".*", "__pycache__", "build", "dist", "site", "*.egg-info")
UNTYPED = "--disable-error-code=import-untyped"
"""pyarrow has no types; `mypy` says so once for each module that imports it."""


def clean(folder, *needed):
    """The Python of a new environment with what is needed."""
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needed)
    return python


def run(*words, cwd=None):
    environment = {
        name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")
    }
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_script_over_the_public_names_runs(tmp_path, capsys):
    script.main(str(tmp_path))
    assert "VersionNotFoundError" in capsys.readouterr().out
    assert "tests.packaging.script" in PROJECT["tool"]["mypy"]["modules"]


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "deltaarrow.version.VERSION"}


def test_each_bound_from_below_has_a_constraint():
    names = [re.split(r"[^\w.-]", each)[0] for each in PROJECT["project"]["dependencies"]]
    assert [line.partition("==")[0] for line in constraints([])] == names


def test_the_first_commands_of_the_readme_bring_no_spark():
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Five minutes")[0]
    named = [
        found.split(",") if found else [] for found in re.findall(r'pip install "?\.(?:\[([\w,]+)])?', first)
    ]
    assert [] in named and len(named) > 1
    for extra in {name for names in named for name in names}:
        needed = " ".join(PROJECT["project"]["optional-dependencies"][extra])
        assert "spark" not in needed and "deltaarrow" not in needed


def test_the_changelog_has_the_form_of_keep_a_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (.*)$", text, re.M)
    assert releases[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in releases[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for release in text.split("\n## ")[1:]:
        found = re.findall(r"^### (.*)$", release, re.M)
        assert set(found) <= kinds and len(found) == len(set(found)) > 0


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The wheel and the source distribution, which `twine` has checked."""
    folder = tmp_path_factory.mktemp("distributions")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    python = clean(folder / "tools", "build", "twine")
    run(python, "-m", "build", "--outdir", folder / "dist", cwd=source)
    [wheel], [archive] = ([*(folder / "dist").glob(kind)] for kind in ("*.whl", "*.tar.gz"))
    run(python, "-m", "twine", "check", "--strict", wheel, archive)
    return wheel, archive


@pytest.mark.slow
def test_distributions_have_the_package_and_no_more(distributions):
    wheel, archive = distributions
    names = zipfile.ZipFile(wheel).namelist()
    about = f"deltaarrow-{VERSION}.dist-info/"
    assert {name.partition("/")[0] for name in names} == {"deltaarrow", "dbt", about.rstrip("/")}
    assert {"deltaarrow/py.typed", f"{about}licenses/LICENSE"} <= set(names)
    assert any(name.endswith(".sql") for name in names if name.startswith("dbt/include/"))
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "deltaarrow").rglob("*.py")}
    assert {name for name in names if name.startswith("deltaarrow/") and name.endswith(".py")} == own
    with tarfile.open(archive) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    assert own | {"pyproject.toml", "README.md", "LICENSE"} <= inside


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_each_installs_and_passes_the_demo_in_a_clean_environment(distributions, tmp_path, kind):
    wheel, archive = distributions
    found = wheel if kind == "wheel" else archive
    python = clean(tmp_path / "environment", f"deltaarrow[cli,polars] @ {found.as_uri()}", "mypy")
    command = python.with_name("deltaarrow")
    assert run(command, "--version").strip() == VERSION
    assert "Traceback" not in run(command, "demo", cwd=tmp_path)
    shutil.copy(script.__file__, tmp_path / "script.py")
    run(python, "-W", "error", "script.py", tmp_path, cwd=tmp_path)
    assert "Success" in run(python, "-m", "mypy", "--strict", UNTYPED, "script.py", cwd=tmp_path)


@pytest.mark.slow
def test_the_lowest_of_each_dependency_passes_the_script_and_the_demo(distributions, tmp_path):
    """The suite itself runs there by hand: see `tests.support.lowest`."""
    wheel, _ = distributions
    lowest = tmp_path / "constraints.txt"
    lowest.write_text("".join(f"{line}\n" for line in constraints()), encoding="utf-8")
    needed = ["-c", str(lowest), f"deltaarrow[cli,polars,pandas] @ {wheel.as_uri()}"]
    python = clean(tmp_path / "environment", *needed)
    shutil.copy(script.__file__, tmp_path / "script.py")
    run(python, "-W", "error", "script.py", tmp_path, cwd=tmp_path)
    run(python, "-W", "error::DeprecationWarning", "-m", "deltaarrow", "demo", cwd=tmp_path)
    installed = run(python, "-m", "pip", "list", "--format=freeze")
    pyarrow = next(line for line in constraints() if line.startswith("pyarrow=="))
    assert pyarrow.partition("==")[2] in installed
