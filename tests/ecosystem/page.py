"""``python -m tests.ecosystem.page`` writes the tables of `docs/reference/ecosystem.md` from the calls."""

import re

from tests.ecosystem.calls import SMALL, Call
from tests.ecosystem.large_libraries import LARGE
from tests.support.modules import ROOT

__all__ = ["PAGE", "written"]

PAGE = ROOT / "docs" / "reference" / "ecosystem.md"
BEGIN = "<!-- calls: written by `python -m tests.ecosystem.page` -->"
END = "<!-- end of calls -->"
BETWEEN = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)


def _result(call: Call) -> str:
    if call.error is not None:
        return f"`{call.error.__name__}`"
    found = "rows" if call.nested else "rows; no structs or variants"
    return f"{found}; since {call.library} {call.since}" if call.since else found


def rendered() -> str:
    """The counts, and a line for each call."""
    calls = [*SMALL, *LARGE]
    libraries = {call.library for call in calls}
    refused = sum(call.error is not None for call in calls)
    lines = [
        f"{len(calls)} calls of {len(libraries)} libraries: {len(calls) - refused} give the rows of the"
        f" table, {refused} raise an error.",
        "",
        "| library | call | result | tested |",
        "|---|---|---|---|",
    ]
    lines += [f"| {each.library} | `{each.text}` | {_result(each)} | everyday |" for each in SMALL]
    lines += [f"| {each.library} | `{each.text}` | {_result(each)} | slow suite |" for each in LARGE]
    return "\n" + "\n".join(lines) + "\n\n"


def written(page: str) -> str:
    """The page with the tables of the calls as they are."""
    return BETWEEN.sub(lambda _: rendered(), page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
