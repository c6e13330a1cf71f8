"""What verifying a table finds: `Finding`s of the `Check`s, gathered in a `VerifyReport`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deltaarrow.display.notebook import html_table

__all__ = ["Check", "Examination", "Finding", "Severity", "VerifyReport"]

_SHOWN = 100


class Severity(StrEnum):
    """How bad a finding is: an `ERROR` may cost rows, readers cope with what is a `WARNING`."""

    ERROR = "error"
    WARNING = "warning"


class Check(StrEnum):
    """What is checked, each against its chapter of the protocol.

    ======================  ========================================================================
    ``last_checkpoint``     ``_last_checkpoint`` can be read, names a checkpoint that is there, and the
                            newest one (Last Checkpoint File). Readers that find it wrong list the log,
                            so it is never an error.
    ``commit_info``         What commits say of themselves has the types by which delta-spark parses it;
                            where it cannot, it reads the table no more, or not its history (Commit
                            Provenance Information).
    ``checkpoint``          The checkpoint says what the commits say, from version 0 on or, where those are
                            gone, from an older checkpoint on: protocol, metadata, transactions, domains
                            and files (Checkpoints, Action Reconciliation). Without commits there is
                            nothing to compare. A deep run takes every checkpoint, others the one that
                            the version is read from.
    ``version_checksum``    The version checksum says what replay says (Version Checksum File): protocol,
                            metadata, transactions, domains, in-commit timestamp, files, bytes, deletion
                            vectors and both histograms.
    ``data_file``           Every live file is in storage, is as long as the log says, and is a Parquet
                            file that can be read; no file is live twice (Add File and Remove File).
    ``deletion_vector``     Every deletion vector is there, agrees with its checksum, size and
                            cardinality, and deletes no row that its file does not have; the file's
                            statistics say how many it has (Deletion Vectors).
    ``partition_values``    Every file has a value for every partition column, and each is the text of a
                            value of the column's type (Partition Value Serialization).
    ``row_ids``             No two files have a base row id that gives two rows the same id, none is
                            above the high-water mark, and none is missing where row tracking is enabled
                            (Row Tracking).
    ``statistics``          Statistics can be parsed and ``numRecords`` is the number of rows of the file.
                            A deep run reads all rows: none that is not deleted lies beyond the bounds of
                            its column, as readers understand them, and the counts of NULLs are those of
                            the data, where they say something (Per-file Statistics).
    ======================  ========================================================================
    """

    LAST_CHECKPOINT = "last_checkpoint"
    COMMIT_INFO = "commit_info"
    CHECKPOINT = "checkpoint"
    VERSION_CHECKSUM = "version_checksum"
    DATA_FILE = "data_file"
    DELETION_VECTOR = "deletion_vector"
    PARTITION_VALUES = "partition_values"
    ROW_IDS = "row_ids"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: `what` it is, and the file, as a store name, `where` it is."""

    severity: Severity
    check: Check
    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what} ({self.check})"


@dataclass(frozen=True)
class VerifyReport:
    """What was found wrong with a table at a version; iterating gives the findings.

    `checked` says how many files, checkpoints and so on each check looked at; a check that had nothing
    to look at is not in it. `deep` says whether the rows were read too.
    """

    table: str
    version: int
    deep: bool
    checked: Mapping[Check, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found that is an error; there may be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def _count(self) -> str:
        errors = len(self.errors)
        return f"errors={errors}, warnings={len(self.findings) - errors}"

    def __repr__(self) -> str:
        depth = ", deep" if self.deep else ""
        return f"VerifyReport({self.table!r}, version={self.version}{depth}, ok={self.ok}, {self._count()})"

    def _repr_html_(self) -> str:
        said: dict[str, Any] = {"table": self.table, "version": self.version, "verdict": self._count()}
        said |= {f"checked: {check}": count for check, count in self.checked.items()}
        shown = {
            f"{i + 1}. {f.severity}": f"{f.where}: {f.what}" for i, f in enumerate(self.findings[:_SHOWN])
        }
        if len(self.findings) > _SHOWN:
            shown["…"] = f"{len(self.findings) - _SHOWN} more"
        return html_table(said) + (html_table(shown) if shown else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a value that JSON can hold."""
        return {
            "table": self.table,
            "version": self.version,
            "deep": self.deep,
            "ok": self.ok,
            "checked": {str(check): count for check, count in self.checked.items()},
            "findings": [
                {"severity": str(f.severity), "check": str(f.check), "what": f.what, "where": f.where}
                for f in self.findings
            ],
        }


@dataclass
class Examination:
    """A report in the making."""

    findings: list[Finding] = field(default_factory=list)
    checked: Counter[Check] = field(default_factory=Counter)

    def error(self, check: Check, what: object, where: str) -> None:
        """Add an error."""
        self.findings.append(Finding(Severity.ERROR, check, str(what), where))

    def warning(self, check: Check, what: object, where: str) -> None:
        """Add a warning."""
        self.findings.append(Finding(Severity.WARNING, check, str(what), where))

    def report(self, table: str, version: int, *, deep: bool) -> VerifyReport:
        """Return the report of what was found."""
        return VerifyReport(table, version, deep, dict(self.checked), tuple(self.findings))
