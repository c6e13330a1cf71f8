"""The examples of deltalake's docstrings, run with the import changed.

`python -m tests.deltalake_suite.snippets` reads them from the installed package. Each runs in a folder of its
own with the tables that it names, and those that fail are compared with `FAILING`. The pages of the guide
run by `tests.deltalake_suite.guide`.
"""

import ast
import contextlib
import datetime
import importlib.util
import io
import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import pyarrow as pa

import deltaarrow
import deltaarrow.schema
from deltaarrow import DeltaTable, write_deltalake

FAILING = {
    "query.__init__.0": "a setting of DataFusion",
    "table.__datafusion_table_provider__.0": "a provider of tables of DataFusion",
    "table.to_pyarrow_dataset.0": "a bucket",
    "table.get_add_actions.0": "fails in deltalake too: a chunked column has no method `field`",
}
"""Example -> why it fails."""
NO_CODE = {
    "table.generate.0": "a listing of files",
    "table.repair.1": "a result",
    "table.__datafusion_table_provider__.1": "a result",
    "table.add_feature.1": "a result that names what is not public",
    "_internal.from_json.4": "its text does not end where it should",
}
"""Example -> what it is instead of code that runs."""
TABLES = ("test_table_constraints", "test_table", "my_table", "tmp/my_table", "tmp/my-table", "TEST", "tp")
_PROMPT = re.compile(r"^\s*(>>>|\.\.\.|>)( |$)")


def read_examples(text):
    """Return the Python in the fences of a text."""
    found = re.findall(r"^ *```([^`\n]*)\n(.*?)^ *``` *$", textwrap.dedent(text), re.M | re.S)
    return [textwrap.dedent(code) for language, code in found if language.strip() in ("", "py", "python")]


def docstring_examples():
    """Return the examples in the docstrings of the installed deltalake by name."""
    package = Path(importlib.util.find_spec("deltalake").origin).parent
    found = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                for code in read_examples((ast.get_docstring(node) or "") + "\n"):
                    place = f"{path.stem}.{getattr(node, 'name', 'module')}"
                    number = sum(each.rpartition(".")[0] == place for each in found)
                    found[f"{place}.{number}"] = code
    return found


def strip_output(code):
    """Return the code of an example without prompts, and without the output that follows it."""
    lines = code.splitlines()
    if any(line.lstrip().startswith(">>> ") for line in lines):
        lines = [line for line in lines if _PROMPT.match(line)]
    if any(line.lstrip().startswith((">>> ", "> ")) for line in lines):
        lines = [_PROMPT.sub("", line) for line in lines]
    kept = ""
    for part in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        kept = _longest_code(kept, part.splitlines())
    return kept


def _longest_code(before, lines):
    """Return the code `before` with as many of the lines that follow it as are Python."""
    for length in range(len(lines), 0, -1):
        with contextlib.suppress(SyntaxError):
            found = "\n\n".join([*filter(None, [before]), "\n".join(lines[:length])])
            ast.parse(found)
            return found
    return before


def make_table(path):
    """Write a table of two versions, long ago, with the columns that the examples name."""
    columns = {
        "id": pa.array(list("1234")),
        "num": pa.array([1, 2, 3, 4]),
        "value": pa.array([6, 7, 8, 9]),
        "price": pa.array([10.0, 15.0, 20.0, 30.0]),
        "deleted": pa.array([False] * 4),
        "year": pa.array(["2021", "2021", "2020", "2020"]),
        "month": pa.array(["12", "4", "10", "1"]),
        "day": pa.array(["1", "2", "3", "4"]),
    }
    fields = [pa.field(name, values.type, name != "id") for name, values in columns.items()]
    data = pa.table(list(columns.values()), pa.schema(fields))
    write_deltalake(path, data, partition_by=["year"])
    write_deltalake(path, data, mode="append")
    for number, log in enumerate(sorted(Path(path, "_delta_log").glob("*.json"))):
        then = 1_500_000_000 + number
        log.write_text(re.sub(r'("timestamp":\s*)\d+', rf"\g<1>{then}000", log.read_text()))
        os.utime(log, (then, then))
    return data


def make_names(code):
    """Make the tables that an example uses and does not write; return what else it takes as there."""
    for path in TABLES:
        if f'"{path}"' in code.replace("'", '"') and not re.search(rf'(table_uri=|lake\()["\']{path}', code):
            make_table(path)
    data = make_table("given")
    given = DeltaTable("given")
    if "drop_constraint(" in code:
        given.alter.add_constraint({"value_gt_5": "value > 5"})
    if "when_matched_delete()" in code:
        write_deltalake("tmp", pa.table({"x": [1, 2, 3], "y": [4, 5, 6]}))
    public = {name: getattr(deltaarrow, name) for name in deltaarrow.__all__}
    own = {"dt": given, "table_path": "given", "data": data, "cols": ["value"], "pa": pa, "table": given}
    own["new_data"] = pa.table({"x": [2, 3], "y": [5, 6], "deleted": [False, True]})
    times = {name: getattr(datetime, name) for name in ("datetime", "timedelta", "timezone")}
    return {**public, **vars(deltaarrow.schema), **own, **times}


def run(code, names, changed=True):
    """Run an example, with the import `changed` or not; return its error, or None."""
    if changed:
        code = re.sub(r"^( *)import deltalake( as \w+)?$", _change_import, code, flags=re.M)
        code = re.sub(r"^( *)from deltalake\b", r"\1from deltaarrow", code, flags=re.M)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "example", "exec"), names)
    except Exception as error:  # whatever an example raises is what this tool tells
        return error
    return None


def _change_import(found):
    return f"{found[1]}import deltaarrow{found[2] or ' as deltalake'}"


def run_docstrings():
    """Run the examples of the docstrings; return the error of each by name, or None."""
    errors = {}
    for name, found in docstring_examples().items():
        if name not in NO_CODE:
            code = strip_output(found).replace("/tmp/my_table", "my_new_table")
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                errors[name] = run(code, make_names(code))
    return errors


def main():
    """Run the examples, and print what fails; return whether they do what is recorded."""
    errors = run_docstrings()
    failed = {name: error for name, error in errors.items() if error}
    print(f"{len(errors)} examples, {len(errors) - len(failed)} run")
    for name, error in failed.items():
        print(f"{name}: {FAILING.get(name, 'not recorded')}: {type(error).__name__}: {error}")
    return failed.keys() == FAILING.keys()


if __name__ == "__main__":
    sys.exit(not main())
