"""COPY INTO and COPY TO."""

__all__: list[str] = []
