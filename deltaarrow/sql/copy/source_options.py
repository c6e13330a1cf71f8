"""FORMAT_OPTIONS of COPY INTO: the supported options of Spark's file readers.

A name is in letters of either case. An option that is not here is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features.property import parse_boolean

__all__ = ["SourceOptions", "parse_source_options"]


@dataclass(frozen=True)
class SourceOptions:
    """How the files of a format are read.

    Attributes:
        is_recursive: whether files in folders below are read.
        merges_schema: whether files may have different columns.
        ignores_damaged: whether files are left out that cannot be read.
        has_header: whether the first line of a file names its columns.
        separator: stands between the values of a line.
        quote: stands around a value; empty for no character.
        escape: stands before a quote inside a value.
        null_text: a value that means NULL, besides the empty one.
        is_multi_line: whether a value, or a document, may have several lines.
        infers_types: whether texts get the type that all of a column have.
        date_format, timestamp_format: how texts for columns of these types are written; None as in casts.
    """

    is_recursive: bool = False
    merges_schema: bool = False
    ignores_damaged: bool = False
    has_header: bool = False
    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null_text: str = ""
    is_multi_line: bool = False
    infers_types: bool = False
    date_format: str | None = None
    timestamp_format: str | None = None


def _flag(text: str) -> bool:
    try:
        return parse_boolean(text)
    except ValueError:
        raise ValueError("true or false") from None


def _character(text: str) -> str:
    text = {"\\t": "\t"}.get(text, text)
    if len(text) != 1 or not text.isascii() or text.isalnum() or text in "\r\n":
        raise ValueError("one character of ASCII that is no letter, no digit and no end of a line")
    return text


def _quote(text: str) -> str:
    return _character(text) if text else text


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.upper() not in known:
            raise ValueError(" or ".join(known))
        return text

    return parse


_COMMON: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "recursiveFileLookup": ("is_recursive", _flag),
    "mergeSchema": ("merges_schema", _flag),
    "ignoreCorruptFiles": ("ignores_damaged", _flag),
}
_TEXT: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "multiLine": ("is_multi_line", _flag),
    "dateFormat": ("date_format", str),
    "timestampFormat": ("timestamp_format", str),
    "mode": (None, _one_of("FAILFAST")),
    "encoding": (None, _one_of("UTF-8", "UTF8")),
    "charset": (None, _one_of("UTF-8", "UTF8")),
}
_OPTIONS = {
    "parquet": _COMMON,
    "json": _COMMON | _TEXT,
    "csv": _COMMON
    | _TEXT
    | {
        "header": ("has_header", _flag),
        "sep": ("separator", _character),
        "delimiter": ("separator", _character),
        "quote": ("quote", _quote),
        "escape": ("escape", _character),
        "nullValue": ("null_text", str),
        "inferSchema": ("infers_types", _flag),
    },
}
"""By format and name: what an option says, if it says anything, and how its text is read."""


def parse_source_options(source_format: str, given: Mapping[str, str]) -> SourceOptions:
    """Return what options say.

    Raises `UnsupportedFeatureError` for one that is not obeyed, and for a text that is no value of it.

    >>> parse_source_options("csv", {"header": "true", "sep": ";"}).separator
    ';'
    """
    known = _OPTIONS[source_format]
    by_name = {name.lower(): name for name in known}
    found = {}
    for name, text in given.items():
        spelled = by_name.get(name.lower())
        if spelled is None:
            raise UnsupportedFeatureError(
                f"the option {name} of {source_format.upper()} files is not supported"
                f"{did_you_mean(name, known, quote='')} (options: {', '.join(sorted(known))})",
                feature=name,
            )
        meaning, parse = known[spelled]
        try:
            value = parse(text)
        except ValueError as error:
            raise UnsupportedFeatureError(
                f"{text!r} is no value of the option {spelled}: it must be {error}", feature=spelled
            ) from None
        if meaning is not None:
            found[meaning] = value
    return SourceOptions(**found)
