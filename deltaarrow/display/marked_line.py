"""A line of a text with a caret under one position, for error messages."""

from deltaarrow.display.redaction import redacted

__all__ = ["marked_line", "shortened"]

_BESIDE = 60
_MOST = 100


def marked_line(text: str, place: int) -> str:
    r"""Return the line of a text that a place is in, and a caret below the place, as two indented lines.

    Secrets are hidden before the line is cut, so that no cut hides how a secret begins.

    >>> print(marked_line("SELECT a\nFROM t WHRE b", 16))
      FROM t WHRE b
             ^
    """
    place = min(place, len(text))
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : len(text) if end < 0 else end]
    before, after = line[: place - start], line[place - start :]
    shown = redacted(line)
    column = len(before) if shown == line else min(len(redacted(before)), len(shown))
    if not after.strip():
        shown = shown.rstrip()
    first = max(0, column - _BESIDE)
    part = "".join(each if each.isprintable() else " " for each in shown[first : column + _BESIDE])
    return f"  {part}\n  {' ' * (column - first)}^"


def shortened(text: str) -> str:
    """Return a text without secrets, and cut if it is long."""
    shown = redacted(text)
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}..."
