"""What notebooks show of an object: one small HTML table of names and values, everything escaped."""

import html
from collections.abc import Mapping
from typing import Any

__all__ = ["html_table"]


def html_table(values: Mapping[str, Any]) -> str:
    """Return an HTML table with a row for every name.

    >>> html_table({"files": 2})
    '<table><tr><th style="text-align:left">files</th><td>2</td></tr></table>'
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>'
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"
