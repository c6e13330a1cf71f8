"""Arrow arrays and Parquet footers, without pyarrow's own conversions."""

__all__: list[str] = []
