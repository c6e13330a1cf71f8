"""HTML representations for notebooks: small tables of names and values, everything escaped."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["html_rows", "html_table"]


def html_table(values: Mapping[str, Any]) -> str:
    """Return an HTML table with one row per name.

    >>> html_table({"files": 2})
    '<table><tr><th style="text-align:left">files</th><td>2</td></tr></table>'
    """
    return html_rows(values.items())


def html_rows(rows: Iterable[tuple[str, Any]]) -> str:
    """Return an HTML table with one row per pair of name and value; names may repeat."""
    import html

    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
