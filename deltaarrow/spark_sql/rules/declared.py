"""Rules that a table's metadata declares as text.

==================  ==================================  ===========================================
rule                where                               for example
==================  ==================================  ===========================================
CHECK constraint    table property                      ``delta.constraints.positive`` = ``id > 0``
column invariant    metadata of a column or a field     ``delta.invariants`` =
                                                        ``{"expression":{"expression":"id > 0"}}``
generated column    metadata of a column                ``delta.generationExpression`` =
                                                        ``CAST(at AS DATE)``
default             metadata of a column                ``CURRENT_DEFAULT`` = ``current_date()``
length of texts     metadata of a column                ``__CHAR_VARCHAR_TYPE_STRING`` =
                                                        ``array<varchar(9)>``
==================  ==================================  ===========================================
"""

from collections.abc import Mapping
from dataclasses import replace

import orjson

from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import Field, StructType, fields_within
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX, DEFAULT_KEY, GENERATION_KEY, INVARIANTS_KEY
from deltaarrow.spark_sql.rules.rules import GeneratedColumn, TableRules
from deltaarrow.spark_sql.types.char_varchar import text_limits
from deltaarrow.spark_sql.types.type_rules import type_name
from deltaarrow.variant import holds_variant

__all__ = ["declared_rules", "ensure_rules_declarable"]


def declared_rules(
    schema: StructType, configuration: Mapping[str, str], *, has_generated: bool = True
) -> TableRules:
    """The rules of a table for its rows.

    Args:
        schema: the logical schema.
        configuration: the table's properties.
        has_generated: whether the protocol has the feature ``generatedColumns``; if not, generation
            expressions are ignored as leftovers, as in Spark.

    Raises:
        UnsupportedFeatureError: an expression uses something unsupported, an invariant has an unknown form, a
            struct field is generated or has a default, or a column is declared as a type other than its own.
        SchemaMismatchError: an expression names a column that does not exist.

    >>> schema = StructType([Field("id", "long"), Field("n", "long", metadata={"CURRENT_DEFAULT": "1 + 1"})])
    >>> rules = declared_rules(schema, {"delta.constraints.positive": "id > 0"})
    >>> [each.name for each in rules.constraints], [each.name for each in rules.defaults]
    (['positive'], ['n'])
    """
    _ensure_flat(schema)
    constraints = {
        name[len(CONSTRAINT_PREFIX) :]: text
        for name, text in configuration.items()
        if name.lower().startswith(CONSTRAINT_PREFIX)
    }
    for field in fields_within(schema):
        if INVARIANTS_KEY in field.metadata:
            text = _invariant(field)
            constraints[f"EXPRESSION({text})"] = text
    rules = TableRules.parse(
        schema,
        constraints,
        _texts(schema, GENERATION_KEY) if has_generated else {},
        _texts(schema, DEFAULT_KEY),
    )
    return replace(rules, text_limits=text_limits(schema))


def ensure_rules_declarable(schema: StructType, configuration: Mapping[str, str]) -> None:
    """Refuse rules with which Spark would not create a table.

    Raises:
        SchemaMismatchError: a generated column reads itself or another generated column, has another type
            than its expression, is a variant, or also has a default; or a default does not fit its column.
        UnsupportedFeatureError: as `declared_rules`, for defaults too.
    """
    rules = declared_rules(schema, configuration)
    generated = {each.name for each in rules.generated}
    for column in rules.generated:
        _ensure_generable(column, generated)
    for default in rules.defaults:
        if default.name in generated:
            raise SchemaMismatchError(
                f"column {default.name!r} has both a default and a generation expression; remove one of them"
            )
        try:
            default.value()
        except ConstraintViolationError as error:
            raise SchemaMismatchError(
                f"the default {default.text} of column {default.name!r} is not a valid"
                f" {type_name(default.type)}: {error}"
            ) from error


def _ensure_generable(column: GeneratedColumn, generated: set[str]) -> None:
    text = column.expression.text
    read = [path[0] for path in column.expression.columns if path[0] in generated]
    if read:
        other = "itself" if read[0] == column.name else f"the generated column {read[0]!r}"
        raise SchemaMismatchError(
            f"generated column {column.name!r} ({text}) reads {other}; it may read only columns that are not"
            " generated"
        )
    if column.expression.type != column.type:
        raise SchemaMismatchError(
            f"generated column {column.name!r} is {type_name(column.type)}, but its expression ({text}) is"
            f" {type_name(column.expression.type)}; add a CAST"
        )
    if holds_variant(column.type):
        raise SchemaMismatchError(
            f"generated column {column.name!r} is {type_name(column.type)}; a variant cannot be generated"
        )


def _texts(schema: StructType, key: str) -> dict[str, str]:
    return {field.name: str(field.metadata[key]) for field in schema.fields if key in field.metadata}


def _invariant(field: Field) -> str:
    text = str(field.metadata[INVARIANTS_KEY])
    try:
        rule = orjson.loads(text)
        return str(rule["expression"]["expression"])
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        raise UnsupportedFeatureError(
            f"column {field.name!r} has an invariant that is not understood: {text}",
            feature="invariants",
        ) from error


def _ensure_flat(schema: StructType) -> None:
    for key, feature in ((GENERATION_KEY, "generatedColumns"), (DEFAULT_KEY, "allowColumnDefaults")):
        for field in schema.fields:
            inner = next((each for each in fields_within(field.type) if key in each.metadata), None)
            if inner is not None:
                raise UnsupportedFeatureError(
                    f"{inner.name!r} inside the column {field.name!r} has {key}, which only top-level"
                    " columns may have",
                    feature=feature,
                )
