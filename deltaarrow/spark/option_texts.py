"""Parsing of option values, which Spark passes as strings.

Spark passes all options as strings, with their names in lower case. An unknown option is an
error, so that a misspelled option is not silently ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.features import parse_size
from deltaarrow.log.version_arguments import parse_moment

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


_OF_CATALOGS = {"owner", "provider"}
"""What Spark's catalog says of a table that CREATE TABLE names."""
_NAMELESS = (
    "Spark does not tell a data source in Python the path of a table of a name, so tables of CREATE TABLE and"
    " saveAsTable cannot be read: use CREATE TEMPORARY VIEW name USING deltaarrow OPTIONS (path '...')"
)


def ensure_one_of(given: Mapping[str, str], first: str, second: str) -> None:
    """Raise `ValueError` if both of two alternative options are given."""
    if first in given and second in given:
        raise ValueError(f"{first} and {second} exclude one another; give one of them")


def known_options(options: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The options by their documented names; raise `ValueError` for unknown ones."""
    spelled = {name.lower(): name for name in names}
    if {name.lower() for name in options} >= _OF_CATALOGS:
        raise ValueError(_NAMELESS)
    given = {}
    for name, text in options.items():
        known = spelled.get(name.lower())
        if known is None:
            meant = did_you_mean(name, names)
            raise ValueError(f"unknown option {name!r}{meant} (options: {', '.join(names)})")
        given[known] = text
    return given


def table_path(given: Mapping[str, str]) -> str:
    """The path of the table."""
    if not given.get("path"):
        raise ValueError(
            f"there is no path: give one to load() or save(), or as the option path. {_NAMELESS}"
        )
    return given["path"]


def parse_number(given: Mapping[str, str], name: str, *, least: int = 0) -> int | None:
    """The integer value of an option; None if it is not given."""
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name} must be an integer that is not negative, not {text!r}")
    if int(text) < least:
        raise ValueError(f"{name} must be at least {least}, not {text}")
    return int(text)


def parse_bytes(given: Mapping[str, str], name: str) -> int | None:
    """The byte count of an option, which may have a unit of 1024; None if it is not given."""
    text = given.get(name)
    if text is None:
        return None
    try:
        size = parse_size(text)
    except ValueError:
        size = 0
    if size == 0:
        raise ValueError(f"{name} must be a positive number of bytes, such as 1000 or 64mb, not {text!r}")
    return size


def parse_time(given: Mapping[str, str], name: str) -> str | None:
    """The string of a timestamp option; None if it is not set."""
    text = given.get(name)
    if text is not None:
        try:
            parse_moment(text)
        except ValueError as error:
            raise ValueError(f"{name} must be a time such as 2026-01-31T12:00:00Z, not {text!r}") from error
    return text


def is_true(given: Mapping[str, str], name: str) -> bool:
    """Whether an option is ``true``."""
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, not {given[name]!r}")
    return text == "true"


def parse_names(given: Mapping[str, str], name: str) -> list[str] | None:
    """The names in a string: a JSON list, or names separated by commas."""
    text = given.get(name)
    if text is None:
        return None
    if text.lstrip().startswith("["):
        listed = _json(name, text)
        if not all(isinstance(each, str) for each in listed):
            raise ValueError(f"{name} must be a list of names, not {text!r}")
        return list(listed)
    listed = [each.strip() for each in text.split(",")]
    if not all(listed):
        raise ValueError(f"{name} must be one or more names, separated by commas, not {text!r}")
    return listed


def parse_storage_options(given: Mapping[str, str]) -> dict[str, str]:
    """The storage options, given as a JSON object."""
    if "storageOptions" not in given:
        return {}
    options = _json("storageOptions", given["storageOptions"])
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise ValueError("storageOptions must be a JSON object whose values are texts")
    return options


def _json(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
