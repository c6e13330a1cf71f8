"""Verification of a table: its log against itself and against storage, its statistics against its data.

`deltaarrow.verify.report.Check` lists the checks and their chapters of the protocol.
All findings are reported; nothing is repaired.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.verify.report import (
        Check as Check,
        Finding as Finding,
        Severity as Severity,
        VerifyReport as VerifyReport,
    )
    from deltaarrow.verify.verification import verify_snapshot as verify_snapshot

__getattr__ = lazy_package(__name__)
