"""Suggestions of similar names, for error messages about an unknown name."""

from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "no_column"]

_MOST_NAMES = 30


def did_you_mean(name: str, known: Iterable[str], quote: str = "`") -> str:
    """Return the part of a message that names what may be meant; empty where nothing is close.

    >>> did_you_mean("ordres", ["orders", "customers"])
    '; did you mean `orders`?'
    >>> did_you_mean("x", ["orders"])
    ''
    """
    import difflib  # lazy: only errors need it

    spelled = {each.lower(): each for each in known}
    close = [f"{quote}{spelled[each]}{quote}" for each in difflib.get_close_matches(name.lower(), spelled)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def no_column(name: str, known: Sequence[str], where: str = "") -> str:
    """Return the message for a column that is unknown: where, similar names, and the names there are.

    >>> no_column("idd", ["id", "day"], "the table")
    'no column `idd` in the table; did you mean `id`? (columns: id, day)'
    """
    more = f", and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    place = f" in {where}" if where else ""
    names = ", ".join(known[:_MOST_NAMES]) or "none"
    return f"no column `{name}`{place}{did_you_mean(name, known)} (columns: {names}{more})"
