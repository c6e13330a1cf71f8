"""The report on a table: facts from its log, advice in words, and one self-contained HTML page."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.table.report.advice import Advice as Advice, advise as advise
    from deltaarrow.table.report.column_skipping import (
        ColumnSkipping as ColumnSkipping,
        measure_skipping as measure_skipping,
    )
    from deltaarrow.table.report.facts import TableFacts as TableFacts, gather_facts as gather_facts
    from deltaarrow.table.report.page import render_report as render_report
    from deltaarrow.table.report.recent_commits import (
        CommitBytes as CommitBytes,
        read_commit_bytes as read_commit_bytes,
    )

__getattr__ = lazy_package(__name__)
