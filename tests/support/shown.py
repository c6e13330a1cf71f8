"""All that an exception shows: its traceback, and the texts of it and of those it is raised for."""

import traceback

__all__ = ["shown"]


def shown(error: BaseException) -> str:
    """The traceback without lines of code, and texts, arguments and attributes of the whole chain."""
    lines = [
        line
        for each in traceback.TracebackException.from_exception(error, capture_locals=False).format()
        for line in each.splitlines()
        if not line.startswith("    ")
    ]
    found, pending, seen = [*lines], [error], set[int]()
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        pending += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]
        found += [
            str(each),
            repr(each),
            repr(each.args),
            repr(vars(each)),
            repr(getattr(each, "place", None)),
        ]
        found += [str(getattr(each, name, None)) for name in ("filename", "filename2", "strerror")]
    return "\n".join(found)
