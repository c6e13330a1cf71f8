"""Azure Blob Storage and Data Lake Storage."""

__all__: list[str] = []
