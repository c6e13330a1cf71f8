"""What the footers of data files say about their columns."""

__all__: list[str] = []
