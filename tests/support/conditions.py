"""Conditions in Spark SQL as predicate trees."""

from deltaarrow.expressions import Predicate
from deltaarrow.schema import StructType
from deltaarrow.spark_sql import parse_condition

__all__ = ["predicate_of"]


def predicate_of(text: str, schema: StructType) -> Predicate:
    """The predicate of a condition on rows of a schema."""
    return parse_condition(text, schema).predicate
