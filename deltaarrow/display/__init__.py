"""Output for people: in notebooks, and in messages without secrets."""

__all__: list[str] = []
