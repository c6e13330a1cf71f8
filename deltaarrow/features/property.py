"""One table property: its record, and the parsing of its text.

Property values are text. The functions here parse it as strictly as delta-spark does: a number has no spaces
or underscores, a boolean is ``true`` or ``false`` in any case, an interval has no months.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from deltaarrow.errors import InvalidTablePropertyError

__all__ = [
    "Effect",
    "TableProperty",
    "is_duration",
    "parse_boolean",
    "parse_formats",
    "parse_integer",
    "parse_interval",
    "parse_long",
    "parse_one_of",
    "parse_size",
    "parse_word",
]

T = TypeVar("T")

_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INTERVAL_PART = re.compile(r"([+-]?)\s*([0-9]+)(\.[0-9]+)?\s+([a-z]+)\s*", re.ASCII)
_SIZE = re.compile(r"([0-9]+)\s*(?:([bkmgt])b?)?", re.ASCII)
_UNITS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


def _always(_: Any) -> bool:
    return True


class Effect(StrEnum):
    """The effect of a property in this release."""

    HONOURED = "honoured"
    FEATURE = "as its table feature"
    NONE = "none"


class TableProperty(NamedTuple, Generic[T]):
    """The record of one table property.

    Fields: its full `name`; `from_text`, which raises `ValueError` for text without meaning; the `default`
    if the table does not set it; the `requirement` on its value, in words, and `is_valid`, the same as a
    function; one `sentence` on its purpose. `editable` is False if only an engine may set it; `alternates`
    are its older names; `effect` is its effect in this release; `is_of_spark` is False if delta-spark does
    not know it and refuses to set it.
    """

    name: str
    from_text: Callable[[str], T]
    default: T
    requirement: str
    sentence: str
    is_valid: Callable[[T], bool] = _always
    editable: bool = True
    alternates: tuple[str, ...] = ()
    effect: Effect = Effect.HONOURED
    is_of_spark: bool = True

    def parse(self, configuration: Mapping[str, str]) -> T:
        """Return the value for a table with this configuration.

        Raises `InvalidTablePropertyError` when the text in the table has no meaning.

        >>> size = TableProperty("delta.size", parse_integer, 10, "an integer", "An example.")
        >>> size.parse({"delta.size": "100"}), size.parse({})
        (100, 10)
        """
        for name in (self.name, *self.alternates):
            if (text := configuration.get(name)) is not None:
                return self._value(text)
        return self.default

    def ensure_valid(self, text: str) -> None:
        """Raise `InvalidTablePropertyError` unless a user may set the property to `text`."""
        if not self.editable:
            raise InvalidTablePropertyError(f"{self.name} is set by the engine; users cannot change it")
        if not self.is_valid(self._value(text)):
            raise InvalidTablePropertyError(f"{self.name} must be {self.requirement}, not {text!r}")

    def _value(self, text: str) -> T:
        try:
            return self.from_text(text)
        except (ValueError, OverflowError, InvalidTablePropertyError) as error:
            raise InvalidTablePropertyError(
                f"{self.name} must be {self.requirement}, not {text!r}"
            ) from error


def parse_boolean(text: str) -> bool:
    """Parse ``true`` or ``false``, in any case."""
    lower = text.lower()
    if lower not in ("true", "false"):
        raise ValueError(text)
    return lower == "true"


def parse_integer(text: str, bits: int = 32) -> int:
    """Parse a decimal integer of `bits` bits."""
    if not _INT.fullmatch(text) or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise ValueError(text)
    return int(text)


def parse_long(text: str) -> int:
    """Parse a decimal integer of 64 bits."""
    return parse_integer(text, 64)


def parse_size(text: str) -> int:
    """Parse a number of bytes; units are multiples of 1024.

    >>> parse_size("64mb"), parse_size("1000")
    (67108864, 1000)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return int(found[1]) << 10 * "bkmgt".index(found[2] or "b")


def parse_interval(text: str) -> timedelta:
    """Parse an interval.

    >>> str(parse_interval("interval 1 week 12 hours"))
    '7 days, 12:00:00'
    """
    rest = text.strip().lower()
    rest = rest.removeprefix("interval ").strip()
    total, at = timedelta(), 0
    while part := _INTERVAL_PART.match(rest, at):
        sign, whole, fraction, unit = part.groups()
        step = _UNITS.get(unit.removesuffix("s"))
        # Months and years have no fixed length; only seconds may have a fraction.
        if step is None or (fraction and step != _UNITS["second"]):
            raise ValueError(text)
        amount = step * int(whole) + timedelta(seconds=float(fraction or 0))
        total += -amount if sign == "-" else amount
        at = part.end()
    if not rest or at != len(rest):
        raise ValueError(text)
    return total


def parse_one_of(*allowed: str) -> Callable[[str], str]:
    """Return a parser that accepts one of these words, in any case."""

    def from_text(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(text)
        return text.lower()

    return from_text


def parse_word(*allowed: str) -> Callable[[str], str]:
    """Return a parser that accepts one of these words, case-sensitively."""

    def from_text(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return from_text


def parse_formats(text: str) -> tuple[str, ...]:
    """Parse a list of table formats without repetition."""
    formats = tuple(text.split(",")) if text else ()
    if len(set(formats)) != len(formats) or not set(formats) <= {"iceberg", "hudi"}:
        raise ValueError(text)
    return formats


def is_duration(interval: timedelta | None) -> bool:
    """Whether an interval is None or not negative."""
    return interval is None or interval >= timedelta()
