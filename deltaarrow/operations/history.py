"""How history spells what an operation was given."""

import orjson

__all__ = ["predicates_parameter"]


def predicates_parameter(text: str | None) -> str:
    """Return a condition as history spells it; None means all rows."""
    return orjson.dumps([] if text is None else [f"({text})"]).decode()
