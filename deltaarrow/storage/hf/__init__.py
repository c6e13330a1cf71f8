"""Datasets on the Hugging Face Hub."""

__all__: list[str] = []
