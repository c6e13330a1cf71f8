"""What the reader refuses of the corpus: row id -> the feature that is missing, as the error names it.

Each entry is a strict expected failure: the read must raise an `UnsupportedFeatureError` whose message holds
that name, and the test fails as soon as the read succeeds.
"""

__all__ = ["EXPECTED_FAILURES"]

EXPECTED_FAILURES: dict[str, str] = {}
