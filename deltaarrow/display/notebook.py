"""What notebooks show of an object: small HTML tables of names and values, everything escaped."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["html_rows", "html_table"]


def html_table(values: Mapping[str, Any]) -> str:
    """Return an HTML table with a row for every name.

    >>> html_table({"files": 2})
    '<table><tr><th style="text-align:left">files</th><td>2</td></tr></table>'
    """
    return html_rows(values.items())


def html_rows(rows: Iterable[tuple[str, Any]]) -> str:
    """Return an HTML table with a row for every pair of a name, not always another, and a value."""
    import html

    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
