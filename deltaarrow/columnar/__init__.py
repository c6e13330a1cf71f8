"""Arrow arrays and Parquet footers below the level of pyarrow's own functions."""

__all__: list[str] = []
