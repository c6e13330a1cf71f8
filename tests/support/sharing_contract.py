"""The contract of Delta Sharing, as JSON schemas of its messages.

Written from the facts of the sharing protocol: which fields a message has, which it must have, and their
types. Requests have no other fields; answers may have more, since a server may tell more.
"""

from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["faults_of"]

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
COUNT = {"type": "integer", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
ADDRESS = {"type": "string", "pattern": "^https?://"}


def _object(
    required: dict[str, Any], optional: dict[str, Any] | None = None, *, is_open: bool = True
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": is_open,
    }


def _items(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return _object(
        {}, {"items": {"type": "array", "items": _object(required, optional)}, "nextPageToken": TEXT}
    )


def _line(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return _object({kind: body}, is_open=False)


FORMAT = _object({"provider": {"const": "parquet"}})
METADATA = _object(
    {
        "id": TEXT,
        "format": FORMAT,
        "schemaString": TEXT,
        "partitionColumns": {"type": "array", "items": TEXT},
    },
    {"name": TEXT, "description": TEXT, "configuration": TEXTS, "version": WHOLE, "size": WHOLE},
)
TIMES = {"version": WHOLE, "timestamp": WHOLE, "expirationTimestamp": WHOLE}
VECTOR = _object(
    {
        "storageType": {"enum": ["p", "i"]},
        "pathOrInlineDv": TEXT,
        "sizeInBytes": COUNT,
        "cardinality": COUNT,
    },
    {"offset": COUNT},
)
ADD = _object(
    {"path": ADDRESS, "partitionValues": TEXTS, "size": COUNT}, {"stats": TEXT, "deletionVector": VECTOR}
)
END = _line(
    "endStreamAction",
    _object({}, {"refreshToken": TEXT, "nextPageToken": TEXT, "minUrlExpirationTimestamp": WHOLE}),
)
LINES = {
    "parquet": [
        _line("protocol", _object({"minReaderVersion": {"const": 1}})),
        _line("metaData", METADATA),
        _line(
            "file",
            _object(
                {"url": ADDRESS, "id": TEXT, "partitionValues": TEXTS, "size": COUNT},
                {"stats": TEXT, **TIMES},
            ),
        ),
        END,
    ],
    "delta": [
        _line(
            "protocol",
            _object({"deltaProtocol": _object({"minReaderVersion": COUNT, "minWriterVersion": COUNT})}),
        ),
        _line("metaData", _object({"deltaMetadata": METADATA}, {"version": WHOLE, "size": WHOLE})),
        _line(
            "file",
            _object(
                {"id": TEXT, "deltaSingleAction": _object({"add": ADD}, is_open=False)},
                {"deletionVectorFileId": TEXT, **TIMES},
            ),
        ),
        END,
    ],
}
OPERATIONS = {
    "column": (0, 0),
    "literal": (0, 0),
    "isNull": (1, 1),
    "not": (1, 1),
    "equal": (2, 2),
    "lessThan": (2, 2),
    "lessThanOrEqual": (2, 2),
    "greaterThan": (2, 2),
    "greaterThanOrEqual": (2, 2),
    "and": (2, 1 << 20),
    "or": (2, 1 << 20),
}
"""Operation of a hint -> the least and the most of its children."""
VALUE_TYPES = ("bool", "int", "long", "string", "date")
QUERY = _object(
    {},
    {
        "predicateHints": {"type": "array", "items": TEXT},
        "jsonPredicateHints": TEXT,
        "limitHint": COUNT,
        "version": COUNT,
        "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
        "includeRefreshToken": {"type": "boolean"},
        "refreshToken": TEXT,
        "pageToken": TEXT,
        "maxFiles": COUNT,
    },
    is_open=False,
)
SCHEMAS: dict[str, dict[str, Any]] = {
    "shares": _items({"name": TEXT}, {"id": TEXT}),
    "schemas": _items({"name": TEXT, "share": TEXT}),
    "tables": _items({"name": TEXT, "schema": TEXT, "share": TEXT}, {"id": TEXT, "shareId": TEXT}),
    "query": QUERY,
    "error": _object({"errorCode": TEXT, "message": TEXT}),
}


def faults_of(kind: str, message: Any) -> list[str]:
    """Return what is wrong with a message.

    Args:
        kind: ``shares``, ``schemas``, ``tables``, ``query`` (a request), ``error``, ``hint`` (a JSON
            predicate), or the format of a table's lines, ``parquet`` or ``delta``.
        message: the JSON value; for a table, the list of its lines.
    """
    if kind == "hint":
        return _faults_of_hint(message)
    if kind not in LINES:
        return [each.message for each in Draft202012Validator(SCHEMAS[kind]).iter_errors(message)]
    either = Draft202012Validator({"oneOf": LINES[kind]})
    faults = [f"no line of {kind}: {line}" for line in message if not either.is_valid(line)]
    kinds = [next(iter(line), "") for line in message]
    if kinds[:2] != ["protocol", "metaData"] or "endStreamAction" in kinds[:-1]:
        faults.append(f"lines in this order: {kinds}")
    return faults


def _faults_of_hint(node: dict[str, Any]) -> list[str]:
    operation, children = node.get("op"), node.get("children", [])
    least, most = OPERATIONS.get(operation, (1, 0))
    faults = [] if least <= len(children) <= most else [f"{operation} with {len(children)} children"]
    if operation in ("column", "literal"):
        wanted = {"op", "valueType", "name" if operation == "column" else "value"}
        if set(node) != wanted or node["valueType"] not in VALUE_TYPES:
            faults.append(f"a leaf {node}")
    elif set(node) != {"op", "children"}:
        faults.append(f"a node with {sorted(node)}")
    return faults + [fault for each in children for fault in _faults_of_hint(each)]
