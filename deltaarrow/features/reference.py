"""Markdown tables of features and properties for the reference pages of the documentation."""

from datetime import timedelta
from typing import Any

from deltaarrow.features.properties import PROPERTIES
from deltaarrow.features.property import TableProperty
from deltaarrow.features.registry import FEATURES, Support, TableFeature

__all__ = ["render_feature_table", "render_property_table"]


def render_feature_table() -> str:
    """Return the Markdown table of all table features and how far this release supports them.

    >>> print(render_feature_table().splitlines()[0])
    | Table feature | Read | Write | DELETE, UPDATE, MERGE | Can be dropped | What it is |
    """
    head = [
        "| Table feature | Read | Write | DELETE, UPDATE, MERGE | Can be dropped | What it is |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(head + [_row(feature) for feature in FEATURES.values()]) + "\n"


def render_property_table() -> str:
    """Return the Markdown table of all table properties and their effect in this release.

    >>> print(render_property_table().splitlines()[0])
    | Table property | Default | Effect | What it is |
    """
    head = ["| Table property | Default | Effect | What it is |", "|---|---|---|---|"]
    return "\n".join(head + [_property_row(record) for record in PROPERTIES.values()]) + "\n"


def _property_row(record: TableProperty[Any]) -> str:
    effect = str(record.effect) if record.is_of_spark else f"{record.effect}; not in Spark"
    return f"| `{record.name}` | {_default(record.default)} | {effect} | {record.sentence} |"


def _default(value: object) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, timedelta):
        return f"{value.days} days" if value.days > 1 else f"{value // timedelta(hours=1)} hours"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row(feature: TableFeature) -> str:
    names = ", ".join(f"`{name}`" for name in (feature.name, *feature.also_named))
    can = f"{feature.read} | {_write(feature)} | {_change(feature)} | {feature.removal}"
    return f"| {names} | {can} | {feature.sentence} |"


def _write(feature: TableFeature) -> str:
    if feature.append is feature.overwrite:
        return str(feature.append)
    if (feature.append, feature.overwrite) == (Support.YES, Support.UNLESS_ACTIVE):
        return "yes; only appends when active"
    return f"append: {feature.append}; overwrite: {feature.overwrite}"


def _change(feature: TableFeature) -> str:
    return "no when active" if feature.change is Support.UNLESS_ACTIVE else str(feature.change)
