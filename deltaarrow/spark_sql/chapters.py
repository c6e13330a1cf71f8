"""Binders of function calls and rare operators, imported when an expression has one."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.spark_sql.attempts import try_cast as try_cast
    from deltaarrow.spark_sql.bits import SHIFTS as SHIFTS, bitwise as bitwise, complement as complement
    from deltaarrow.spark_sql.conditionals import (
        case as case,
        element as element,
        field_of as field_of,
        is_field as is_field,
    )
    from deltaarrow.spark_sql.constructors import struct as struct
    from deltaarrow.spark_sql.interval_values import (
        arithmetic_of_times as arithmetic_of_times,
        interval_value as interval_value,
    )
    from deltaarrow.spark_sql.lambdas import Lambda as Lambda
    from deltaarrow.spark_sql.made_intervals import (
        MAKING_INTERVALS as MAKING_INTERVALS,
        MadeInterval as MadeInterval,
        made_interval as made_interval,
    )
    from deltaarrow.spark_sql.registry import find_function as find_function, near_functions as near_functions
    from deltaarrow.spark_sql.temporal import BY_UNIT as BY_UNIT, extracted as extracted
    from deltaarrow.spark_sql.text_parts import is_ilike as is_ilike, trimmed as trimmed
    from deltaarrow.spark_sql.texts import concatenate as concatenate, like as like, matches as matches
    from deltaarrow.spark_sql.variant_casts import as_variant as as_variant, variant_as as variant_as
    from deltaarrow.spark_sql.variant_functions import (
        path_text as path_text,
        variant_part as variant_part,
        variant_within as variant_within,
    )

__getattr__ = lazy_package(__name__)
