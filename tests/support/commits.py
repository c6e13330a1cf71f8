"""Comparison of two tables' commits, except for ids, times, and names and sizes of files."""

import json
from pathlib import Path
from typing import Any

__all__ = ["commit", "comparable", "rewrite_configuration"]

BY_NATURE = {
    "commitInfo": {"timestamp", "inCommitTimestamp", "engineInfo", "txnId"},
    "metaData": {"id", "createdTime"},
    "add": {"path", "size", "modificationTime"},
    "remove": {"path", "size", "deletionTimestamp", "stats"},
    "txn": {"lastUpdated"},
}


def commit(path: Any, version: int) -> list[dict]:
    """The actions of a version, as they stand in the log."""
    text = (Path(path) / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def rewrite_configuration(path: Any, version: int, configuration: dict[str, str]) -> None:
    """Give the metadata of a version properties that nobody may set, and forget its checksum."""
    log = Path(path) / "_delta_log"
    actions = commit(path, version)
    for action in actions:
        if "metaData" in action:
            action["metaData"]["configuration"] |= configuration
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (log / f"{version:020d}.json").write_text(text, encoding="utf-8")
    (log / f"{version:020d}.crc").unlink(missing_ok=True)


def comparable(actions: list[dict]) -> list[tuple[str, list[str], dict]]:
    """Kind of action, names of its fields and those of its values that two writers have in common."""
    found = []
    for action in actions:
        ((kind, fields),) = action.items()
        by_nature = BY_NATURE.get(kind, set())
        values = {name: _parsed(value) for name, value in fields.items() if name not in by_nature}
        if kind == "commitInfo":
            values["operationMetrics"] = {
                name: text for name, text in values["operationMetrics"].items() if "Bytes" not in name
            }
        if kind == "protocol":
            # Spark lists features in the order of a hash table.
            values = {
                name: sorted(value) if isinstance(value, list) else value for name, value in values.items()
            }
        found.append((kind, sorted(fields.keys() - {"stats"}), values))
    return sorted(found, key=repr)


def _parsed(value: Any) -> Any:
    """Texts that are JSON as what they say: the order of keys means nothing.

    The Base85 of a deletion vector's path may begin as JSON does, and stays a text.
    """
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    if isinstance(value, dict):
        return {name: each if name == "pathOrInlineDv" else _parsed(each) for name, each in value.items()}
    return value
