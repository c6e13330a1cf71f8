"""Scripts of Spark SQL: files with statements separated by semicolons, and with variables.

``${name}`` stands for the value of a variable wherever it is written. Values are those of whoever runs the
script; one that would end a name in backquotes or a text is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deltaarrow.spark_sql import split_statements

__all__ = ["Script", "fill_variables", "read_scripts"]

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_UNSAFE = re.compile(r"['\"`;\\\n]|--")


@dataclass(frozen=True)
class Script:
    """One file: its name, without the ending, and its text."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The first sentence of the comment that it begins with."""
        said = []
        for line in self.text.splitlines():
            if not line.startswith("--"):
                break
            said.append(line.removeprefix("--").strip())
        return " ".join(said).partition(". ")[0].rstrip(".")

    def statements(self, variables: Mapping[str, object]) -> list[str]:
        r"""Return the statements with the values of variables in their places.

        Raises `ValueError` for a variable without a value, and for a value that is not safe to put there;
        `UnsupportedFeatureError` for a quote that is not closed.

        >>> Script("a", "SELECT ';' ; -- twice; or\nSELECT ${n}").statements({"n": 2})
        ["SELECT ';'", 'SELECT 2']
        """
        return [fill_variables(statement, variables) for statement in split_statements(self.text)]


def fill_variables(statement: str, variables: Mapping[str, object]) -> str:
    """Return a statement with the values of variables in the places of ``${name}``.

    Raises `ValueError` as `Script.statements` does.

    >>> fill_variables("SELECT ${n}", {"n": 2})
    'SELECT 2'
    """
    return _VARIABLE.sub(lambda found: _value(variables, found[1]), statement)


def _value(variables: Mapping[str, object], name: str) -> str:
    if name not in variables:
        raise ValueError(f"the variable {name} has no value; there are {sorted(variables)}")
    text = str(variables[name])
    if _UNSAFE.search(text):
        raise ValueError(f"{text!r} cannot stand for {name} in SQL")
    return text


def read_scripts(place: str | Path) -> list[Script]:
    """Return the scripts of a folder, in the order of their names; or the one at the path of a file.

    Raises `FileNotFoundError` where there are none.
    """
    path = Path(place)
    files = [path] if path.is_file() else sorted(path.glob("*.sql"))
    if not files:
        raise FileNotFoundError(f"{path} holds no scripts: there is no file that ends in .sql")
    return [Script(file.stem, file.read_text("utf-8")) for file in files]
