"""Operation parameters in the spelling of history."""

import orjson

__all__ = ["predicates_parameter"]


def predicates_parameter(text: str | None) -> str:
    """Return a condition as history spells it; None means all rows.

    >>> predicates_parameter("id = 1"), predicates_parameter("TRUE")
    ('["(id = 1)"]', '["true"]')
    """
    is_literal = text is not None and text.lower() in ("true", "false")
    said = [] if text is None else [text.lower() if is_literal else f"({text})"]
    return orjson.dumps(said).decode()
