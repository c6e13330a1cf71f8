"""The private words of the style page stay out of the documentation and of public docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.modules import ROOT

PRIVATE = {
    "texts": "strings",
    "moment": "timestamp",
    "moments": "timestamps",
    "point in time": "timestamp",
    "points in time": "timestamps",
    "tells": "returns, reports, raises",
    "told": "called with",
    "so many": "the count, n",
    "as many as": "at most n, unlimited",
    "manieth": "every nth",
    "repetitions": "retries",
    "rounds of repetitions": "retry cycles",
    "functions that take functions": "higher-order functions",
    "values at random": "random functions",
    "codes of texts": "encoding functions",
}
"""Words that must not stand for a term of the field, and the term."""

PLACES = {"place": "path, location, position, index", "places": "paths, locations, positions, indexes"}
"""Private too, but for `in place` and the decimal places of a number."""

ALLOWED = {
    "docs/reference/sql-scripts.md": {"texts"},
}
"""The words that a page may use: `texts` is the name of a group of Spark's scripts."""

FINISHED = (
    "errors.py",
    "snapshot.py",
    "sql/connection.py",
    "table",
    "catalogs",
    "features/properties.py",
    "engines/dataset.py",
    "engines/typed_dataset.py",
    "engines/accepted_tables.py",
    "spark/options.py",
    "spark/registration.py",
    "spark/tables/delta_table.py",
    "spark/tables/table_builder.py",
)
"""The modules and folders of the package whose docstrings are free of these words; others join them."""

CODE = re.compile(r"^ *```[\s\S]*?^ *```|``[^`]*``|`[^`\n]*`|^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
COMMON = re.compile(r"\b(?:in|take the|takes the|taken its) place\b|\bdecimal places?\b")
WORDS = re.compile(rf"\b(?:{'|'.join([*PRIVATE, *PLACES])})\b", re.IGNORECASE)

MODULES = [
    path
    for each in FINISHED
    for path in sorted((ROOT / "deltaarrow" / each).rglob("*.py")) or [ROOT / "deltaarrow" / each]
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _private_words(prose: str) -> list[str]:
    """The private words in prose, outside of code and of common idioms."""
    return [found.lower() for found in WORDS.findall(COMMON.sub("", CODE.sub("", prose)))]


def _docstrings(module: Path) -> Iterator[str]:
    """The docstrings of a module, of its classes and functions, and of its attributes."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_use_the_terms_of_the_field(page: Path) -> None:
    allowed = ALLOWED.get(page.relative_to(ROOT).as_posix(), set())
    assert [each for each in _private_words(page.read_text("utf-8")) if each not in allowed] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docstrings_of_finished_modules_use_the_terms_of_the_field(module: Path) -> None:
    found = [(word, text) for text in _docstrings(module) for word in _private_words(text)]
    assert found == []


def test_a_private_word_is_found_in_prose_and_not_in_code() -> None:
    prose = "Two texts `texts`.\n\n    >>> told\n```sql\nplace\n```\nAt a place, ``place``, changed in place."
    assert _private_words(prose) == ["texts", "place"]
