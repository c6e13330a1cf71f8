"""The report as one HTML page."""

import datetime
import math
from collections.abc import Iterator

import numpy as np

from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.display.html_parts import (
    Bar,
    bar_plot,
    byte_size,
    escaped,
    html_page,
    number,
    share_rows,
    table_rows,
)
from deltaarrow.table.report.advice import advise
from deltaarrow.table.report.facts import TableFacts

__all__ = ["render_report"]

_MOST_BARS = 40
_SHOWN_COMMITS = 20
_MINUTE = 60_000
_DAY = 1440 * _MINUTE
_MONTH = 30 * _DAY
_STEPS = [*(minutes * _MINUTE for minutes in (1, 5, 15, 60, 180, 720)), _DAY, 7 * _DAY, _MONTH, 365 * _DAY]
_EARLIEST, _LATEST = 631_152_000_000, 7_258_118_400_000
"""1990 and 2200: no commit is of another time, whatever it says."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SHARES = (0.0, 0.01, 0.05, 0.2, 0.5)


def render_report(facts: TableFacts) -> str:
    """Return the page of a table; every string of the table is escaped."""
    title = facts.name or facts.location.rstrip("/").rpartition("/")[2]
    return html_page(f"{title} · version {facts.version}", _parts(facts, title))


def _parts(facts: TableFacts, title: str) -> Iterator[str]:
    yield f"<h1>{escaped(title)}</h1>"
    yield (
        f'<p class="faint">{escaped(facts.location)} · version {facts.version},'
        f" {escaped(_time(facts.time))}</p>"
    )
    yield _totals(facts)
    yield "<h2>Advice</h2>"
    yield from _advice(facts)
    yield "<h2>Files and rows</h2>"
    yield f'<div class="grid">{_sizes(facts)}{_deleted(facts)}</div>'
    yield "<h2>Commits</h2>"
    yield f'<div class="grid">{_commits(facts)}{_bytes(facts)}</div>'
    yield "<h2>How well columns skip files</h2>"
    yield from _skipping(facts)
    yield "<h2>What maintenance would do</h2>"
    yield from _maintenance(facts)
    yield "<h2>Newest commits</h2>"
    yield _newest(facts)


def _totals(facts: TableFacts) -> str:
    held = f"{number(facts.num_rows)}{' or more' if facts.uncounted else ''}"
    said = {
        "Files": number(facts.num_files),
        "Size": byte_size(facts.num_bytes),
        "Rows": held,
        "Deleted rows in files": number(facts.num_deleted),
        "Partitions": number(facts.num_partitions) if facts.partition_columns else "none",
        "Partitioned by": ", ".join(facts.partition_columns) or "nothing",
        "Clustered by": ", ".join(facts.clustering_columns) or "nothing",
    }
    rows = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in said.items()
    )
    return f"<dl>{rows}</dl>"


def _advice(facts: TableFacts) -> Iterator[str]:
    found = advise(facts)
    if not found:
        yield '<div class="card good"><p>Nothing needs to be done.</p></div>'
    for each in found:
        yield (
            f'<div class="card warn"><p><b>{escaped(each.what)}</b></p><p>{escaped(each.why)}</p>'
            f"<p><code>{escaped(each.how)}</code></p></div>"
        )


def _sizes(facts: TableFacts) -> str:
    powers = np.log2(np.maximum(facts.sizes, 1)).astype(np.int64)
    if not len(powers):
        return bar_plot("File sizes", "the table has no file", [])
    first, last = int(powers.min()), int(powers.max())
    counts = np.bincount(powers - first, minlength=last - first + 1).tolist()
    bars = [Bar(byte_size(1 << (first + place)), count) for place, count in enumerate(counts)]
    middle = byte_size(float(np.median(facts.sizes)))
    return bar_plot("File sizes", f"files from each size to twice that size; the median is {middle}", bars)


def _deleted(facts: TableFacts) -> str:
    shares = np.divide(
        facts.deleted, facts.records, out=(facts.deleted > 0).astype(np.float64), where=facts.records > 0
    )
    labels = ["none", *(f"≤ {edge:.0%}" for edge in _SHARES[1:]), f"> {_SHARES[-1]:.0%}"]
    places = np.searchsorted(_SHARES, shares, side="left")
    counts = np.bincount(places, minlength=len(labels)).tolist()
    touched = int((facts.deleted > 0).sum())
    bars = [Bar(label, count) for label, count in zip(labels[1:], counts[1:], strict=True)]
    note = f"files by the share of their rows that is deleted; {number(touched)} files have any"
    if not touched:
        note, bars = "no file holds deleted rows", []
    return bar_plot("Deleted rows", note, bars)


def _commits(facts: TableFacts) -> str:
    times = numbers_of(facts.history.column("timestamp").drop_null().cast("int64"))
    times = times[(times >= _EARLIEST) & (times < _LATEST)]
    if not len(times):
        return bar_plot("Commits over time", "no commit tells its time", [])
    begin, end = int(times.min()), int(times.max())
    step = next(
        (each for each in _STEPS if (end - begin) / each < _MOST_BARS),
        math.ceil((end - begin + 1) / _MOST_BARS),
    )
    origin = begin // step * step
    counts = np.bincount((times - origin) // step).tolist()
    form = "%b %Y" if step >= _MONTH else "%H:%M" if end - begin < _DAY else "%d %b"
    bars = [Bar(_time(origin + place * step, form), count) for place, count in enumerate(counts)]
    note = f"{number(len(times))} commits from {_time(begin)} to {_time(end)}"
    return bar_plot("Commits over time", note + "; older ones left out" * facts.commits_left_out, bars)


def _bytes(facts: TableFacts) -> str:
    found = facts.bytes_by_version
    bars = [Bar(str(each.version), each.written, each.removed) for each in found]
    note = "data files that the newest versions wrote (up) and removed (down)"
    return bar_plot(
        "Bytes per version",
        note if found else "no commit is left, or all are very large",
        bars,
        in_bytes=True,
    )


def _skipping(facts: TableFacts) -> Iterator[str]:
    if not facts.skipping:
        yield '<div class="card"><p>No column has bounds, and there is no partition column.</p></div>'
        return
    yield (
        '<p class="faint">The share of files that a query for one value of the column opens on average, from'
        " bounds and partition values. Less is better.</p>"
    )
    rows = [
        (
            each.name,
            each.opened,
            f"{each.opened:.1%}" if each.opened >= 0.001 else "< 0.1%",
        )
        for each in facts.skipping
    ]
    yield f'<div class="card">{share_rows(rows)}</div>'


def _maintenance(facts: TableFacts) -> Iterator[str]:
    rows: list[tuple[str, str]] = []
    if (forecast := facts.compaction) is None:
        rows.append(("OPTIMIZE", f"would cluster files by {', '.join(facts.clustering_columns)}"))
    elif forecast.num_files:
        rows.append(
            (
                "OPTIMIZE",
                f"would rewrite {number(forecast.num_files)} of {number(facts.num_files)} files,"
                f" {byte_size(forecast.num_bytes)}, as {number(forecast.num_new_files)}",
            )
        )
    else:
        rows.append(("OPTIMIZE", "would rewrite nothing"))
    vacuum = facts.vacuum
    if vacuum.refusal is not None:
        rows.append(("VACUUM", f"is refused: {vacuum.refusal}"))
    elif vacuum.num_files:
        size = f", {byte_size(vacuum.num_bytes)}" if vacuum.num_bytes else ""
        rows.append(("VACUUM", f"would delete {number(vacuum.num_files)} files{size}"))
    else:
        rows.append(("VACUUM", "would delete nothing that the log tells of"))
    yield table_rows(["Operation", "What it would do"], rows)


def _newest(facts: TableFacts) -> str:
    newest = facts.history.slice(0, _SHOWN_COMMITS).select(
        ["version", "timestamp", "operation", "engineInfo", "userMetadata"]
    )
    times = newest.column("timestamp").cast("int64").to_pylist()
    others = (
        newest.column(name).to_pylist() for name in ("version", "operation", "engineInfo", "userMetadata")
    )
    rows = [
        (str(version), None if time is None else _time(time), operation, engine, told)
        for time, version, operation, engine, told in zip(times, *others, strict=True)
    ]
    return table_rows(["Version", "Time (UTC)", "Operation", "Engine", "User metadata"], rows)


def _time(milliseconds: int, form: str = "%Y-%m-%d %H:%M") -> str:
    try:
        moment = _EPOCH + datetime.timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms"
    return moment.strftime(form)
