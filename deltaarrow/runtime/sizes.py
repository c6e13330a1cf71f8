"""The rule for sizes in bytes that users give."""

__all__ = ["ensure_sizes"]

_LARGEST = 2**63 - 1


def ensure_sizes(**sizes: object) -> None:
    """Raise `ValueError` for a size that is no whole number from 1 to 2**63 - 1; None is none at all.

    >>> ensure_sizes(target_size=None, min_file_size=0)
    Traceback (most recent call last):
    ...
    ValueError: min_file_size must be a whole number from 1 to 9223372036854775807, not 0
    """
    for name, size in sizes.items():
        if size is not None and (type(size) is not int or not 1 <= size <= _LARGEST):
            raise ValueError(f"{name} must be a whole number from 1 to {_LARGEST}, not {size!r}")
