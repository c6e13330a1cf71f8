"""The table of features in the README, rendered from the registry."""

from deltaarrow.features.registry import FEATURES, Support, TableFeature

__all__ = ["readme_table"]


def readme_table() -> str:
    """Return the Markdown table of all table features and how far this release goes with them.

    >>> print(readme_table().splitlines()[0])
    | Table feature | Read | Write | What it is |
    """
    head = ["| Table feature | Read | Write | What it is |", "|---|---|---|---|"]
    return "\n".join(head + [_row(feature) for feature in FEATURES.values()]) + "\n"


def _row(feature: TableFeature) -> str:
    names = ", ".join(f"`{name}`" for name in (feature.name, *feature.also_named))
    return f"| {names} | {feature.read} | {_write(feature)} | {feature.sentence} |"


def _write(feature: TableFeature) -> str:
    if feature.append is feature.overwrite:
        return str(feature.append)
    if (feature.append, feature.overwrite) == (Support.YES, Support.UNLESS_ACTIVE):
        return "yes; only appends when active"
    return f"append: {feature.append}; overwrite: {feature.overwrite}"
