"""Removal of type widening from a table: files with columns of old types are rewritten.

Chapter "Type Widening" of the protocol. Once all files have the types of the table, nobody needs to know the
changes, and the schema forgets them.
"""

from collections.abc import Iterator
from dataclasses import replace

import orjson

from deltaarrow.features import properties
from deltaarrow.operations.alter.column_paths import described_column
from deltaarrow.operations.alter.metadata_changes import Alteration, unset_properties
from deltaarrow.operations.drop_feature.step import Step, Work
from deltaarrow.operations.optimize import (
    OptimizePlan,
    Rewriting,
    Selection,
    plan_type_rewriting,
    purge_parameters,
)
from deltaarrow.schema import ArrayType, DataType, Field, JsonObject, MapType, Schema, StructType, edit_field
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY
from deltaarrow.snapshot import Snapshot

__all__ = ["STEPS"]

_PROPERTY = properties.ENABLE_TYPE_WIDENING


def _is_enabled(snapshot: Snapshot) -> bool:
    return _PROPERTY.parse(snapshot.configuration)


def _disable(snapshot: Snapshot, work: Work) -> None:
    work.alter(snapshot, unset_properties(snapshot, [_PROPERTY.name]))


def _has_narrow_files(snapshot: Snapshot) -> bool:
    return _has_changes(snapshot) and bool(plan_type_rewriting(snapshot).bins)


def _rewrite(snapshot: Snapshot, work: Work) -> None:
    parameters, plan = purge_parameters(Selection()), plan_type_rewriting(snapshot)
    Rewriting(snapshot, plan, "REORG", parameters, work.options, work.clock).run(work.progress)


def _plan(snapshot: Snapshot) -> OptimizePlan:
    return plan_type_rewriting(snapshot)


def _has_changes(snapshot: Snapshot) -> bool:
    return any(_widened_columns(snapshot.schema, ()))


def _forget_changes(snapshot: Snapshot, work: Work) -> None:
    found = list(_widened_columns(snapshot.schema, ()))
    schema: Schema = snapshot.schema
    for path, _ in found:
        schema = edit_field(schema, path, _without_changes)
    columns = [described_column(path, field) for path, field in found]
    alteration = Alteration(
        operation="DROP FEATURE",
        parameters={"columns": orjson.dumps(columns).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )
    work.alter(snapshot, alteration)


def _without_changes(field: Field) -> Field:
    kept = {key: value for key, value in field.metadata.items() if key != TYPE_CHANGES_KEY}
    return replace(field, metadata=JsonObject(kept))


def _widened_columns(data_type: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Yield the columns and struct members that record type changes, each with its path."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                if TYPE_CHANGES_KEY in field.metadata:
                    yield (*path, field.name), field
                yield from _widened_columns(field.type, (*path, field.name))
        case ArrayType():
            yield from _widened_columns(data_type.element_type, (*path, "element"))
        case MapType():
            yield from _widened_columns(data_type.key_type, (*path, "key"))
            yield from _widened_columns(data_type.value_type, (*path, "value"))


STEPS = (
    Step("UNSET TBLPROPERTIES", _is_enabled, _disable, in_history=False),
    Step("REORG", _has_narrow_files, _rewrite, _plan),
    Step("DROP FEATURE", _has_changes, _forget_changes),
)
