"""How things are shown to people: in notebooks, and in messages without secrets."""

__all__: list[str] = []
