"""Names close to one that is not known, for error messages."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str], quote: str = "`") -> str:
    """Return the part of a message that names what may be meant; empty where nothing is close.

    >>> did_you_mean("ordres", ["orders", "customers"])
    '; did you mean `orders`?'
    >>> did_you_mean("x", ["orders"])
    ''
    """
    spelled = {each.lower(): each for each in known}
    close = [f"{quote}{spelled[each]}{quote}" for each in difflib.get_close_matches(name.lower(), spelled)]
    return f"; did you mean {' or '.join(close)}?" if close else ""
