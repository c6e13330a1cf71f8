"""`IntervalType`, the type of a length of time in Spark SQL, which no Delta table stores."""

from dataclasses import dataclass

from deltaarrow.errors import UnknownTypeError
from deltaarrow.schema.types import PrimitiveType

__all__ = ["INTERVAL_TYPES", "IntervalType"]

_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
"""The microseconds of each unit, from the longest on."""


@dataclass(frozen=True, repr=False)
class IntervalType(PrimitiveType):
    """A number of microseconds, shown in some units: ``interval day to second``, ``interval hour``.

    >>> IntervalType("interval day to second").units, IntervalType("interval hour").last_unit
    (('day', 'hour', 'minute', 'second'), 3600000000)
    """

    def __post_init__(self) -> None:
        """Raise `UnknownTypeError` unless the name is that of such a type."""
        first, _, last = self.type.removeprefix("interval ").partition(" to ")
        units = list(_UNITS)
        known = self.type.startswith("interval ") and first in units and (last or first) in units
        if not known or (last and units.index(first) >= units.index(last)):
            raise UnknownTypeError(f"{self.type} is no type of a length of time", feature=self.type)

    @classmethod
    def of(cls, first: str, last: str) -> "IntervalType":
        """Return the type whose units go from one to another."""
        return cls(f"interval {first}" if first == last else f"interval {first} to {last}")

    @property
    def units(self) -> tuple[str, ...]:
        """The names of the units, from the longest on."""
        first, _, last = self.type.removeprefix("interval ").partition(" to ")
        units = list(_UNITS)
        return tuple(units[units.index(first) : units.index(last or first) + 1])

    @property
    def last_unit(self) -> int:
        """The microseconds of the shortest unit."""
        return _UNITS[self.units[-1]]

    def wider(self, other: "IntervalType") -> "IntervalType":
        """Return the type with the units of both.

        >>> IntervalType("interval day").wider(IntervalType("interval minute"))
        IntervalType("interval day to minute")
        """
        units = [each for each in _UNITS if each in self.units or each in other.units]
        return self.of(units[0], units[-1])

    def __repr__(self) -> str:
        return f'IntervalType("{self.type}")'


INTERVAL_TYPES = tuple(
    IntervalType.of(first, last) for place, first in enumerate(_UNITS) for last in [*_UNITS][place:]
)
"""All of them."""
