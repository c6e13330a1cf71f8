"""Parts of self-contained HTML pages: escaped texts, tables, and plots as inline SVG.

Whatever a table stores is written by strangers, so every text goes through `escaped`, and a page allows
neither scripts nor anything from the network. Colours follow the reader's choice of light or dark.
"""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "Bar",
    "bar_plot",
    "byte_size",
    "escaped",
    "html_page",
    "number",
    "share_rows",
    "short_number",
    "table_rows",
]

_LONGEST = 160
_WIDEST_BAR = 60
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_WIDTH, _HEIGHT = 420, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 10, 26

_STYLE = """
:root { color-scheme: light dark; --paper: #fbfbf9; --card: #ffffff; --ink: #1d2021; --faint: #61676b;
  --line: #dcdfe0; --one: #2f6f9f; --two: #c2703d; --good: #2e7d4f; --warn: #a86400; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181a; --card: #1e2224; --ink: #e7e9ea;
  --faint: #a0a7ab; --line: #373d40; --one: #6cb0e0; --two: #e39a68; --good: #6cc290; --warn: #e5ad55; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 32px 0 10px; }
p { margin: 0 0 8px; max-width: 72ch; overflow-wrap: anywhere; }
.faint, figcaption small, dt { color: var(--faint); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 8px; margin: 16px 0; }
dl div, figure, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
dl div { padding: 8px 12px; }
dt { font-size: 0.8rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 12px; }
figure { margin: 0; padding: 12px; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 6px; }
figcaption small { display: block; font-weight: 400; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); stroke-width: 1; }
.one { fill: var(--one); } .two { fill: var(--two); }
.card { padding: 10px 14px; margin-bottom: 8px; border-left: 4px solid var(--one); }
.card.warn { border-left-color: var(--warn); } .card.good { border-left-color: var(--good); }
.card p { margin: 2px 0; }
code { font: 0.88em ui-monospace, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 4px 8px; border-bottom: 1px solid var(--line); vertical-align: top;
  white-space: nowrap; }
td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 14em; }
th { color: var(--faint); font-weight: 500; }
.share { display: grid; grid-template-columns: minmax(6em, 14em) 1fr 5em; gap: 8px; align-items: center;
  margin: 3px 0; }
.share span { overflow-wrap: anywhere; } .share span:last-child { text-align: right; }
.track { background: var(--line); border-radius: 3px; height: 12px; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--one); }
@media (max-width: 560px) { .share { grid-template-columns: 1fr 5em; }
  .track { grid-row: 2; grid-column: 1 / 3; } }
"""


@dataclass(frozen=True)
class Bar:
    """One place of a plot: a bar up and, if `below` is not 0, one down."""

    label: str
    above: float
    below: float = 0


def escaped(text: object) -> str:
    r"""Return a text for HTML, on one line, with control and direction characters spelled out; cut if long.

    >>> escaped("<b> & \u202ex")
    '&lt;b&gt; &amp; \\u202ex'
    """
    plain = str(text)
    cut = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return html.escape(shown)


def byte_size(size: float) -> str:
    """Return a number of bytes with a unit.

    >>> byte_size(0), byte_size(1536), byte_size(5 << 40)
    ('0 B', '1.5 KiB', '5 TiB')
    """
    magnitude = abs(size)
    step = min(len(_UNITS) - 1, int(math.log2(magnitude) // 10)) if magnitude >= 1 else 0
    return f"{float(f'{size / 1024**step:.3g}'):,g} {_UNITS[step]}"


def number(value: float) -> str:
    """Return a number with commas.

    >>> number(1234567), number(0.25)
    ('1,234,567', '0.25')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def short_number(value: float) -> str:
    """Return a number of three digits, for the axes of plots.

    >>> short_number(7), short_number(1_500_000), short_number(2e9)
    ('7', '1.5M', '2G')
    """
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:,.3g}{unit}"
    return f"{value:.3g}"


def html_page(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts that are HTML already; `title` is escaped here."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escaped(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def bar_plot(title: str, note: str, bars: Sequence[Bar], *, in_bytes: bool = False) -> str:
    """Return a figure with bars, whose labels are shown as far as there is room."""
    spell = byte_size if in_bytes else short_number
    most = max((bar.above for bar in bars), default=0)
    least = max((bar.below for bar in bars), default=0)
    ticks = _ticks(most, least, 1024 if in_bytes else 10)
    top, bottom = max(ticks), min(ticks)
    scale = (_HEIGHT - _TOP - _BOTTOM) / (top - bottom)
    zero = _TOP + top * scale
    drawn = []
    for tick in ticks:
        y = _TOP + (top - tick) * scale
        drawn.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escaped(spell(abs(tick)))}</text>'
        )
    room = (_WIDTH - _LEFT - _RIGHT) / max(1, len(bars))
    wide = min(_WIDEST_BAR, max(0.5, room * 0.8))
    longest = max((len(bar.label) for bar in bars), default=1)
    every = max(1, math.ceil((longest * 6.2 + 8) / room))
    for place, bar in enumerate(bars):
        x = _LEFT + place * room + (room - wide) / 2
        said = f"{bar.label}: {spell(bar.above)}" + (f", −{spell(bar.below)}" if bar.below else "")
        shapes = "".join(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'
            for kind, y, high in (
                ("one", zero - bar.above * scale, bar.above * scale),
                ("two", zero, bar.below * scale),
            )
            if high > 0
        )
        if shapes:
            drawn.append(f"<g><title>{escaped(said)}</title>{shapes}</g>")
        if place % every == 0:
            middle = x + wide / 2
            drawn.append(
                f'<text x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
                f"{escaped(bar.label)}</text>"
            )
    return (
        f"<figure><figcaption>{escaped(title)}<small>{escaped(note)}</small></figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(title)}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _ticks(most: float, least: float, base: int) -> list[float]:
    """Return round values that span a plot, from above the most to below the least, at most seven."""
    span = max(most + least, 1)
    step: float = base ** math.floor(math.log(span, base))
    while span / step > 5:
        step *= 2 if base != 10 else 2.5 if f"{step:.1e}"[0] == "2" else 2
    while span / step < 2 and step > 1:
        step /= 2
    return [step * place for place in range(-math.ceil(least / step), max(1, math.ceil(most / step)) + 1)]


def share_rows(rows: Iterable[tuple[str, float, str]]) -> str:
    """Return rows of a name, a bar for a share between 0 and 1, and the share in words."""
    return "".join(
        f'<div class="share"><span>{escaped(name)}</span><div class="track">'
        f'<i style="width:{100 * min(1, max(0, share)):.1f}%"></i></div><span>{escaped(said)}</span></div>'
        for name, share, said in rows
    )


def table_rows(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose last column takes what room there is; None is an empty cell."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    return "<td></td>" if value is None else f"<td>{escaped(value)}</td>"
