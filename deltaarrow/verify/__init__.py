"""Verifying a table: its log against itself, its log against storage, its statistics against its data.

`deltaarrow.verify.report.Check` says what is checked and in which chapter of the protocol it stands.
Everything is reported and nothing repaired.
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
