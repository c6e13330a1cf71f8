"""Google Cloud Storage."""

__all__: list[str] = []
