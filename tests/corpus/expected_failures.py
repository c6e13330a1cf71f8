"""What the reader refuses of the corpus: row id -> the feature that is missing, as the error names it.

Each entry is a strict expected failure: the read must raise an `UnsupportedFeatureError` whose message holds
that name, and the test fails as soon as the read succeeds.
"""

__all__ = ["EXPECTED_FAILURES"]

SHREDDED_VARIANTS = (
    "delta-spark/variant-stats-no-checkpoint",
    "delta-spark/variant-stats-state-reconstruction",
    "delta-spark/variant-stats-with-struct-no-checkpoint",
    "parquet-testing/case-002",
    "parquet-testing/case-004",
    "parquet-testing/case-009",
    "parquet-testing/case-010",
    "parquet-testing/case-013",
    "parquet-testing/case-014",
    "parquet-testing/case-015",
    "parquet-testing/case-018",
    "parquet-testing/case-021",
    "parquet-testing/case-022",
    "parquet-testing/case-023",
    "parquet-testing/case-024",
    "parquet-testing/case-026",
    "parquet-testing/case-028",
    "parquet-testing/case-045",
    "parquet-testing/case-083",
    "parquet-testing/case-097",
    "parquet-testing/case-099",
    "parquet-testing/case-100",
    "parquet-testing/case-103",
    "parquet-testing/case-112",
    "parquet-testing/case-116",
    "parquet-testing/case-118",
    "parquet-testing/case-121",
    "parquet-testing/case-123",
    "parquet-testing/case-126",
    "parquet-testing/case-129",
    "parquet-testing/case-131",
    "parquet-testing/case-083-stable-feature",
    "parquet-testing/case-100-stable-feature",
)

EXPECTED_FAILURES: dict[str, str] = dict.fromkeys(SHREDDED_VARIANTS, "variantShredding")
