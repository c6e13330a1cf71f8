"""The plot of targets: one bar each, as long as the used part of its limit."""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from benchmarks.targets import Check

__all__ = ["render_plot"]

_LABELS, _BARS, _VALUES = 700, 300, 60
"""Widths in pixels: of the names, of the bars, and of the values after them."""
_ROW, _TOP = 18, 34
_LEAST, _MOST = 0.03, 10.0
"""The ends of the scale, which is logarithmic."""
_MARKS = (0.1, 0.3, 1.0, 3.0)
_HELD, _MISSED = "#2f7d5b", "#c0492f"


def render_plot(checks: Sequence[Check]) -> str:
    """Return an SVG: green bars end before the line of the limit, red ones beyond it."""
    width, height = _LABELS + _BARS + _VALUES, _TOP + _ROW * len(checks) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LABELS}" y="14" font-weight="bold">needed, as a part of the limit</text>',
    ]
    for mark in _MARKS:
        style = 'stroke="black"' if mark == 1 else 'stroke="#ccc"'
        lines += [
            f'<line x1="{_x(mark)}" x2="{_x(mark)}" y1="{_TOP - 4}" y2="{height - 8}" {style}/>',
            f'<text x="{_x(mark)}" y="{_TOP - 7}" text-anchor="middle" fill="#666">{mark:g}</text>',
        ]
    for number, check in enumerate(checks):
        lines += _bar(check, _TOP + number * _ROW)
    return "\n".join([*lines, "</svg>", ""])


def _bar(check: Check, top: int) -> list[str]:
    end = _x(check.used)
    label = f"{check.what}, {check.of}" + (f" / {check.beside}" if check.beside else "")
    color = _HELD if check.used <= 1 else _MISSED
    return [
        f'<text x="{_LABELS - 6}" y="{top + 12}" text-anchor="end">{escape(label)}</text>',
        f'<rect x="{_LABELS}" y="{top + 2}" width="{end - _LABELS:.1f}" height="{_ROW - 5}" fill="{color}"/>',
        f'<text x="{end + 4}" y="{top + 12}">{check.used:.2f}</text>',
    ]


def _x(part: float) -> float:
    """The horizontal position of a part of the limit."""
    inside = min(max(part, _LEAST), _MOST)
    return round(_LABELS + _BARS * math.log(inside / _LEAST) / math.log(_MOST / _LEAST), 1)
