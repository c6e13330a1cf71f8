"""Changes of single rows in data files: deletion vectors, row ids and identity columns."""

__all__: list[str] = []
