"""The contract of Unity Catalog's API for managed tables, version 0.2, as JSON schemas of its messages.

Written from the facts of the specification: which fields a message has, which it must have, and their types,
the parameters of each call, the status of its success, and those of errors. Requests and errors have no other
fields; answers may have more, since a server may tell more.

The contract is published as prose, so that an OpenAPI document of it would be ours too. What a validator of
OpenAPI finds in an exchange is found here: it validates messages with the same JSON schemas, and knows the
operations, as `_MESSAGES` does. No schema tells an action that stands twice, or a key both set and removed.
"""

from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["faults_of"]


def _object(
    required: dict[str, Any], optional: dict[str, Any] | None = None, *, is_open=False
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": is_open,
    }


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
COUNT = {"type": "integer", "minimum": 0}
NAMES = _list(TEXT)
TEXTS = {"type": "object", "additionalProperties": TEXT}
TEXTS_OR_NULLS = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
UUID = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
KIND = {"enum": ["MANAGED", "EXTERNAL"]}

STRUCT = _object({"type": {"const": "struct"}, "fields": _list(_ref("field"))})
DEFINITIONS = {
    "struct": STRUCT,
    "field": _object(
        {"name": TEXT, "type": _ref("type"), "nullable": {"type": "boolean"}, "metadata": {"type": "object"}}
    ),
    "type": {
        "oneOf": [
            TEXT,
            _ref("struct"),
            _object(
                {
                    "type": {"const": "array"},
                    "element-type": _ref("type"),
                    "contains-null": {"type": "boolean"},
                }
            ),
            _object(
                {
                    "type": {"const": "map"},
                    "key-type": _ref("type"),
                    "value-type": _ref("type"),
                    "value-contains-null": {"type": "boolean"},
                }
            ),
        ]
    },
    "domains": _object(
        {},
        {
            "delta.clustering": _object({"clusteringColumns": _list(NAMES)}),
            "delta.rowTracking": _object({"rowIdHighWaterMark": WHOLE}),
        },
    ),
    "protocol": _object(
        {"min-reader-version": WHOLE, "min-writer-version": WHOLE},
        {"reader-features": NAMES, "writer-features": NAMES},
    ),
    "commit": _object(
        {
            "version": {"type": "integer", "minimum": 1},
            "timestamp": {"type": "integer", "minimum": 1},
            "file-name": {"type": "string", "pattern": r"^\d{20}\.[0-9a-f-]{36}\.json$"},
            "file-size": {"type": "integer", "minimum": 1},
            "file-modification-timestamp": WHOLE,
        }
    ),
    "credential": _object(
        {
            "prefix": TEXT,
            "operation": {"enum": ["READ", "READ_WRITE"]},
            "expiration-time-ms": WHOLE,
            "config": TEXTS,
        }
    ),
}

CREDENTIALS = _object({"storage-credentials": _list(_ref("credential"))}, is_open=True)
STAGING = _object(
    {
        "table-id": UUID,
        "table-type": {"const": "MANAGED"},
        "location": TEXT,
        "storage-credentials": _list(_ref("credential")),
        "required-protocol": _ref("protocol"),
        "required-properties": TEXTS_OR_NULLS,
    },
    {
        "suggested-protocol": _object({}, {"reader-features": NAMES, "writer-features": NAMES}),
        "suggested-properties": TEXTS_OR_NULLS,
    },
    is_open=True,
)
CREATE = _object(
    {
        "name": TEXT,
        "table-type": KIND,
        "location": TEXT,
        "columns": _ref("struct"),
        "properties": TEXTS,
        "protocol": _ref("protocol"),
        "last-commit-timestamp-ms": {"type": "integer", "minimum": 1},
    },
    {"comment": TEXT, "partition-columns": NAMES, "domain-metadata": _ref("domains")},
)
LOADED = _object(
    {
        "metadata": _object(
            {
                "etag": TEXT,
                "table-type": KIND,
                "table-uuid": UUID,
                "location": TEXT,
                "created-time": WHOLE,
                "updated-time": WHOLE,
                "columns": _ref("struct"),
                "properties": TEXTS,
            },
            {"partition-columns": NAMES, "last-commit-version": WHOLE, "last-commit-timestamp-ms": WHOLE},
            is_open=True,
        )
    },
    {"commits": _list(_ref("commit")), "latest-table-version": COUNT},
    is_open=True,
)


def _action(name: str, **fields: Any) -> dict[str, Any]:
    return _object({"action": {"const": name}, **fields})


UPDATE = _object(
    {
        "requirements": _list(
            {
                "oneOf": [
                    _object({"type": {"const": "assert-table-uuid"}, "uuid": UUID}),
                    _object({"type": {"const": "assert-etag"}, "etag": TEXT}),
                ]
            },
            contains={"properties": {"type": {"const": "assert-table-uuid"}}},
        ),
        "updates": _list(
            {
                "oneOf": [
                    _action("add-commit", commit=_ref("commit")),
                    _action("set-latest-backfilled-version", **{"latest-published-version": COUNT}),
                    _action("set-properties", updates={**TEXTS, "minProperties": 1}),
                    _action("remove-properties", removals=_list(TEXT, minItems=1)),
                    _action("set-protocol", protocol=_ref("protocol")),
                    _action("set-columns", columns=_ref("struct")),
                    _action("set-partition-columns", **{"partition-columns": NAMES}),
                    _action("set-table-comment", comment=TEXT),
                    _action("set-domain-metadata", updates={**_ref("domains"), "minProperties": 1}),
                    _action("remove-domain-metadata", domains=_list(TEXT, minItems=1)),
                ]
            },
            minItems=1,
        ),
    }
)
REPORT = _object(
    {"table-id": UUID},
    {
        "report": _object(
            {},
            {
                "commit-report": _object(
                    {},
                    {
                        f"num-{what}": COUNT
                        for what in (
                            "files-added",
                            "bytes-added",
                            "files-removed",
                            "bytes-removed",
                            "rows-inserted",
                            "rows-removed",
                            "rows-updated",
                        )
                    },
                )
            },
        )
    },
)
ERROR = _object(
    {
        "error": _object(
            {"type": TEXT, "code": {"type": "integer", "minimum": 400, "maximum": 599}, "message": TEXT},
            {"stack": NAMES},
        )
    }
)
CONFIG = _object({"endpoints": NAMES, "protocol-version": TEXT}, is_open=True)

_MESSAGES: dict[tuple[str, str], tuple[Any, int, Any]] = {
    ("GET", "config"): (None, 200, CONFIG),
    ("POST", "staging-tables"): (_object({"name": TEXT}), 200, STAGING),
    ("GET", "staging-tables/credentials"): (None, 200, CREDENTIALS),
    ("POST", "tables"): (CREATE, 200, LOADED),
    ("GET", "tables/{table}"): (None, 200, LOADED),
    ("POST", "tables/{table}"): (UPDATE, 200, LOADED),
    ("DELETE", "tables/{table}"): (None, 204, None),
    ("GET", "tables/{table}/credentials"): (None, 200, CREDENTIALS),
    ("POST", "tables/{table}/rename"): (_object({"new-name": TEXT}), 204, None),
    ("POST", "tables/{table}/metrics"): (REPORT, 204, None),
}
"""(method, endpoint) -> the schema of the request, the status of success, the schema of its answer."""

_QUERIES = {
    ("GET", "config"): _object({"catalog": TEXT, "protocol-versions": TEXT}),
    ("GET", "tables/{table}/credentials"): _object({"operation": {"enum": ["READ", "READ_WRITE"]}}),
}
"""(method, endpoint) -> the schema of its parameters; calls that are not here have none."""

_ERRORS = {
    "InvalidParameterValueException": 400,
    "UnsupportedTableFormatException": 400,
    "UnauthenticatedException": 401,
    "PermissionDeniedException": 403,
    "NotFoundException": 404,
    "NoSuchCatalogException": 404,
    "NoSuchTableException": 404,
    "AlreadyExistsException": 409,
    "CommitVersionConflictException": 409,
    "UpdateRequirementConflictException": 409,
    "ResourceExhaustedException": 429,
    "CommitStateUnknownException": 500,
}
"""The type of an error -> its status."""


def faults_of(
    method: str, endpoint: str, query: dict[str, str], request: Any, status: int, answer: Any
) -> list[str]:
    """Return how an exchange departs from the contract; `request` and `answer` are parsed, None for none."""
    if (method, endpoint) not in _MESSAGES:
        return [f"the contract has no {method} {endpoint}"]
    asked, success, told = _MESSAGES[method, endpoint]
    found = _faults(f"the request {method} {endpoint}", asked, request)
    found += _faults(
        f"the parameters of {method} {endpoint}", _QUERIES.get((method, endpoint), _object({})), query
    )
    if 200 <= status < 300 and status != success:
        found.append(f"{method} {endpoint} answers {status}, not {success}")
    found += _faults(f"the answer {status} to {method} {endpoint}", told if status < 300 else ERROR, answer)
    if status >= 400 and not found:
        error = answer["error"]
        if error["code"] != status or _ERRORS.get(error["type"]) != status:
            found.append(f"{method} {endpoint} answers {status} with the error {error}")
    if endpoint == "tables/{table}" and method == "POST" and isinstance(request, dict):
        found += _doubled(request)
    return found


def _faults(what: str, schema: Any, message: Any) -> list[str]:
    if schema is None:
        return [] if message is None else [f"{what} has a body: {message}"]
    validator = Draft202012Validator({**schema, "$defs": DEFINITIONS})
    return [f"{what}: {each.json_path}: {each.message}" for each in validator.iter_errors(message)]


def _doubled(request: dict[str, Any]) -> list[str]:
    """A request has each kind of action and of requirement once, and a key is set or removed."""
    actions = {each["action"]: each for each in request["updates"]}
    found = [] if len(actions) == len(request["updates"]) else ["an action stands twice"]
    keys = actions.get("set-properties", {}).get("updates", {}).keys()
    both = keys & set(actions.get("remove-properties", {}).get("removals", ()))
    domains = actions.get("set-domain-metadata", {}).get("updates", {}).keys()
    both |= domains & set(actions.get("remove-domain-metadata", {}).get("domains", ()))
    return [*found, *(f"{each} is set and removed" for each in both)]
