"""The parts of each statement as a dataclass, the same for both dialects."""

__all__: list[str] = []
