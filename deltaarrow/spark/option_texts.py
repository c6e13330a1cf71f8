"""Texts of ``option(...)`` as values.

Spark hands all options over as texts, with their names in lower case. An option that is not known is an
error: one that is spelled wrongly must not be one that is left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from deltaarrow.features.property import parse_size
from deltaarrow.log.moments import parse_moment

__all__ = [
    "ensure_one_of",
    "is_true",
    "known_options",
    "parse_bytes",
    "parse_names",
    "parse_number",
    "parse_storage_options",
    "parse_time",
    "table_path",
]


def ensure_one_of(given: Mapping[str, str], first: str, second: str) -> None:
    """Raise `ValueError` where two options are given of which each makes up for the other."""
    if first in given and second in given:
        raise ValueError(f"{first} and {second} exclude one another")


def known_options(options: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The options by the names as they are written; raise `ValueError` for others."""
    spelled = {name.lower(): name for name in names}
    given = {}
    for name, text in options.items():
        known = spelled.get(name.lower())
        if known is None:
            raise ValueError(f"{name!r} is none of the options {', '.join(names)}")
        given[known] = text
    return given


def table_path(given: Mapping[str, str]) -> str:
    """Where the table is."""
    if not given.get("path"):
        raise ValueError("there is no path: give one to load() or save(), or as the option path")
    return given["path"]


def parse_number(given: Mapping[str, str], name: str, *, least: int = 0) -> int | None:
    """The integer that an option says; None without it."""
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name} is an integer that is not negative, not {text!r}")
    if int(text) < least:
        raise ValueError(f"{name} is at least {least}")
    return int(text)


def parse_bytes(given: Mapping[str, str], name: str) -> int | None:
    """The bytes that an option says, perhaps in units of 1024; None without it."""
    text = given.get(name)
    if text is None:
        return None
    try:
        size = parse_size(text)
    except ValueError:
        size = 0
    if size == 0:
        raise ValueError(f"{name} is a number of bytes that is positive, such as 1000 or 64mb, not {text!r}")
    return size


def parse_time(given: Mapping[str, str], name: str) -> str | None:
    """The text of a time that an option says; None without it."""
    text = given.get(name)
    if text is not None:
        try:
            parse_moment(text)
        except ValueError as error:
            raise ValueError(f"{name} is a time such as 2026-01-31T12:00:00Z, not {text!r}") from error
    return text


def is_true(given: Mapping[str, str], name: str) -> bool:
    """Whether an option says ``true``."""
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {given[name]!r}")
    return text == "true"


def parse_names(given: Mapping[str, str], name: str) -> list[str] | None:
    """The names in a text: a JSON list, or separated by commas."""
    text = given.get(name)
    if text is None:
        return None
    if text.lstrip().startswith("["):
        listed = _json(name, text)
        if not all(isinstance(each, str) for each in listed):
            raise ValueError(f"{name} is a list of names, not {text!r}")
        return list(listed)
    listed = [each.strip() for each in text.split(",")]
    if not all(listed):
        raise ValueError(f"{name} is one name or more, separated by commas, not {text!r}")
    return listed


def parse_storage_options(given: Mapping[str, str]) -> dict[str, str]:
    """The options of the storage, which are a JSON object."""
    if "storageOptions" not in given:
        return {}
    options = _json("storageOptions", given["storageOptions"])
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise ValueError("storageOptions is a JSON object of texts")
    return options


def _json(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
