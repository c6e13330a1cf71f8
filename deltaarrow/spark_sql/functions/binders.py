"""Binders of function calls and rare operators, imported when an expression has one."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.spark_sql.functions.bitwise import (
        SHIFTS as SHIFTS,
        bitwise as bitwise,
        complement as complement,
    )
    from deltaarrow.spark_sql.functions.conditional import (
        case as case,
        element as element,
        field_of as field_of,
        is_field as is_field,
    )
    from deltaarrow.spark_sql.functions.constructors import struct as struct
    from deltaarrow.spark_sql.functions.datetime import BY_UNIT as BY_UNIT, extracted as extracted
    from deltaarrow.spark_sql.functions.higher_order import Lambda as Lambda
    from deltaarrow.spark_sql.functions.interval import (
        MAKING_INTERVALS as MAKING_INTERVALS,
        MadeInterval as MadeInterval,
        made_interval as made_interval,
    )
    from deltaarrow.spark_sql.functions.interval_arithmetic import (
        arithmetic_of_times as arithmetic_of_times,
        interval_value as interval_value,
    )
    from deltaarrow.spark_sql.functions.registry import (
        find_function as find_function,
        near_functions as near_functions,
    )
    from deltaarrow.spark_sql.functions.string import (
        concatenate as concatenate,
        is_ilike as is_ilike,
        like as like,
        matches as matches,
        trimmed as trimmed,
    )
    from deltaarrow.spark_sql.functions.try_functions import try_cast as try_cast
    from deltaarrow.spark_sql.functions.variant import (
        path_text as path_text,
        variant_part as variant_part,
        variant_within as variant_within,
    )
    from deltaarrow.spark_sql.functions.variant_casts import (
        as_variant as as_variant,
        variant_as as variant_as,
    )

__getattr__ = lazy_package(__name__)
