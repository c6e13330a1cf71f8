"""The report on a run as one HTML page with plots that loads nothing from the network."""

from collections.abc import Callable, Iterator, Sequence

from deltaarrow.display.html_parts import Bar, bar_plot, escaped, html_page, number, table_rows
from deltaarrow.pipeline.lines import lines_of
from deltaarrow.pipeline.run import StepReport

__all__ = ["render_run"]


def render_run(reports: Sequence[StepReport], engine: str) -> str:
    """Return the page of a run; every text is escaped.

    Args:
        reports: those of its steps, in order.
        engine: what the statements ran on, in words.
    """
    return html_page(f"Pipeline run on {engine}", _parts(reports, engine))


def _parts(reports: Sequence[StepReport], engine: str) -> Iterator[str]:
    seconds = sum(report.seconds for report in reports)
    statements = sum(report.statements for report in reports)
    yield "<h1>Pipeline run</h1>"
    yield (
        f'<p class="faint">{escaped(engine)} · {len(reports)} scripts, {statements} statements,'
        f" {seconds:.1f} s</p>"
    )
    yield "<h2>Scripts</h2>"
    yield f'<div class="grid">{_plots(reports)}</div>'
    yield table_rows(
        ("script", "statements", "seconds", "rows", "files", "title"),
        (
            (
                report.name,
                report.statements,
                f"{report.seconds:.1f}",
                number(sum(report.rows.values())),
                number(sum(report.files.values())),
                report.title,
            )
            for report in reports
        ),
    )
    yield "<h2>Tables</h2>"
    yield table_rows(
        ("script", "rows", "files", "table"),
        (
            (report.name, number(rows), number(report.files[table]), table)
            for report in reports
            for table, rows in report.rows.items()
        ),
    )
    lines = [(report.name, line) for report in reports for line in lines_of(report)]
    if lines:
        yield "<h2>Merges and maintenance</h2>"
        yield table_rows(("script", "what was done"), lines)


def _plots(reports: Sequence[StepReport]) -> str:
    def plot(title: str, note: str, value: Callable[[StepReport], float]) -> str:
        return bar_plot(title, note, [Bar(report.name, value(report)) for report in reports])

    return "".join(
        (
            plot("Time", "seconds of each script", lambda report: report.seconds),
            plot("Rows", "written by the commits of each script", lambda report: sum(report.rows.values())),
            plot("Files", "written by the commits of each script", lambda report: sum(report.files.values())),
        )
    )
