"""Results of verifying a table: `Finding`s of `Check`s, collected in a `VerifyReport`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deltaarrow.display.notebook import html_table

__all__ = ["Check", "Examination", "Finding", "Severity", "VerifyReport"]

_SHOWN = 100


class Severity(StrEnum):
    """The severity of a finding: an `ERROR` may cost rows, readers can cope with a `WARNING`."""

    ERROR = "error"
    WARNING = "warning"


class Check(StrEnum):
    """The checks, each against its chapter of the protocol.

    ======================  ========================================================================
    ``last_checkpoint``     ``_last_checkpoint`` can be read, and names the newest existing checkpoint
                            (Last Checkpoint File). Readers that find it wrong list the log,
                            so it is never an error.
    ``commit_info``         The `commitInfo` of each commit has types that delta-spark can parse;
                            otherwise delta-spark cannot read the table, or its history (Commit
                            Provenance Information).
    ``checkpoint``          The checkpoint agrees with the commits, from version 0 on or, if those are
                            gone, from an older checkpoint on: protocol, metadata, transactions, domains
                            and files (Checkpoints, Action Reconciliation). Without commits there is
                            nothing to compare. A deep run takes every checkpoint, other runs the one
                            from which the version is read.
    ``version_checksum``    The version checksum agrees with replay (Version Checksum File): protocol,
                            metadata, transactions, domains, in-commit timestamp, files, bytes, deletion
                            vectors and both histograms.
    ``data_file``           Every live file is in storage, has the size that the log says, and is a
                            readable Parquet file; no file is live twice (Add File and Remove File).
    ``deletion_vector``     Every deletion vector exists, agrees with its checksum, size and
                            cardinality, and deletes no row that its file lacks; the file's
                            statistics hold its row count (Deletion Vectors).
    ``partition_values``    Every file has a value for every partition column, and each is the text of a
                            value of the column's type (Partition Value Serialization).
    ``row_ids``             No two rows share a row id, none is above the high-water mark, and no base row
                            id is missing if row tracking is enabled (Row Tracking).
    ``statistics``          Statistics can be parsed and ``numRecords`` is the number of rows of the file.
                            A deep run reads all rows: no live row lies beyond the bounds of
                            its column, as readers understand them, and the NULL counts are those of
                            the data, where they are defined (Per-file Statistics).
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
    """One fault: `what` is wrong, and `where`, the store name of the file."""

    severity: Severity
    check: Check
    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what} ({self.check})"


@dataclass(frozen=True)
class VerifyReport:
    """The faults of a table at a version; iterating gives the findings.

    `checked` counts the files, checkpoints and so on that each check examined; a check with nothing to
    examine is not in it. `deep` says whether the rows were read too.
    """

    table: str
    version: int
    deep: bool
    checked: Mapping[Check, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; there may be warnings."""
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
