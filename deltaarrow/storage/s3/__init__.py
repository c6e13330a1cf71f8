"""S3: requests, options, and conditional puts."""

__all__: list[str] = []
