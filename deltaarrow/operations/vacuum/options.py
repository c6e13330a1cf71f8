"""`VacuumOptions`, and the refusals of options that would delete too much."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from deltaarrow.errors import VacuumError
from deltaarrow.features import properties

__all__ = ["Progress", "VacuumOptions", "default_retention_ms"]

_HOUR_MS = 60 * 60 * 1000

Progress = Callable[[int, int], None]
"""Called with the number of files deleted so far and the total."""


@dataclass(frozen=True, kw_only=True)
class VacuumOptions:
    """What is deleted; `deltaarrow.DeltaTable.vacuum` says what each field means.

    `listed_here` is for an executor that runs tasks elsewhere: this process lists a table of no more files.
    None leaves the choice to the store.

    Raises `ValueError` for numbers that mean nothing and ways to find files that exclude each other.
    """

    retention_hours: float | None = None
    dry_run: bool = True
    enforce_retention_duration: bool = True
    full: bool = False
    lite: bool = False
    inventory: Any = None
    keep_versions: Sequence[int] | None = None
    parallelism: int | None = None
    listed_here: int | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        hours = self.retention_hours
        if hours is not None and not (isinstance(hours, int | float) and 0 <= hours < math.inf):
            raise ValueError(f"retention_hours is a number of hours, 0 or more, not {hours!r}")
        chosen = {"full": self.full, "lite": self.lite, "inventory": self.inventory is not None}
        if sum(chosen.values()) > 1:
            names = " and ".join(name for name, is_chosen in chosen.items() if is_chosen)
            raise ValueError(f"{names} are different ways to find files; choose one of them")
        if self.parallelism is not None and self.parallelism < 1:
            raise ValueError(f"parallelism is a number of threads, 1 or more, not {self.parallelism!r}")
        if any(version < 0 for version in self.keep_versions or ()):
            raise ValueError(f"keep_versions are versions of the table, 0 or more: {self.keep_versions!r}")

    @property
    def by_storage(self) -> bool:
        """Whether candidates come from a listing, be it one of ours or one that is given."""
        return self.full or self.inventory is not None

    def retention_ms(self, configuration: Mapping[str, str]) -> int:
        """Return how long removed files stay in the table, in milliseconds.

        Raises `VacuumError` for a retention that is shorter than the table's, unless that is allowed.
        """
        default = default_retention_ms(configuration)
        if self.retention_hours is None:
            return default
        asked = round(self.retention_hours * _HOUR_MS)
        if asked < default and self.enforce_retention_duration:
            raise VacuumError(
                f"retention_hours={self.retention_hours} is less than"
                f" {properties.DELETED_FILE_RETENTION.name} of the table ({default / _HOUR_MS:g} hours):"
                " readers of older versions, and writes in progress, would lose files. If nobody needs them,"
                " give enforce_retention_duration=False"
                " (Spark: DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT)"
            )
        return asked


def default_retention_ms(configuration: Mapping[str, str]) -> int:
    """Return `delta.deletedFileRetentionDuration` of a table in milliseconds."""
    return properties.DELETED_FILE_RETENTION.parse(configuration) // timedelta(milliseconds=1)
