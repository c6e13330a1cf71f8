"""Allowed numbers of arguments of calls, and the further arguments that only Spark takes."""

from deltaarrow.spark_sql.tree.nodes import refused

__all__ = ["Arity", "ensure_count", "ensure_pairs"]

Arity = tuple[int, int | None]
"""Least and greatest number of arguments; None for no limit."""

_WRONG = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
_IN_SPARK: dict[str, Arity] = {
    **dict.fromkeys(("arrays_zip", "concat", "current_date", "current_timestamp", "iff"), (0, None)),
    **dict.fromkeys(("map_concat", "struct", "timestampadd", "timestampdiff"), (0, None)),
    **dict.fromkeys(("dense_rank", "percent_rank", "rank"), (0, None)),
    **dict.fromkeys(("hour", "minute", "second"), (1, None)),
    **dict.fromkeys(("explode", "inline", "posexplode"), (0, 1)),
    **dict.fromkeys(("ceil", "ceiling", "floor", "schema_of_json", "to_json", "trim", "try_to_date"), (1, 2)),
    **dict.fromkeys(("make_timestamp", "try_make_timestamp"), (1, 7)),
    **dict.fromkeys(("make_timestamp_ltz", "try_make_timestamp_ltz"), (2, 7)),
    **dict.fromkeys(("make_timestamp_ntz", "try_make_timestamp_ntz"), (2, 6)),
    **dict.fromkeys(("from_json", "ilike", "like", "max_by", "min_by", "nth_value"), (2, 3)),
    **dict.fromkeys(("percentile", "regexp_instr"), (2, 3)),
    **dict.fromkeys(("lag", "lead"), (0, 4)),
    "mask": (0, 5),
    "mode": (0, 2),
    "named_struct": (0, 0),
    "try_to_timestamp": (1, 2),
    "unix_timestamp": (0, 2),
}
"""What Spark does not take for a wrong number of arguments, where that is more than is supported."""


def ensure_count(name: str, count: int, arity: Arity) -> None:
    """Raise `UnsupportedFeatureError` for a call with too few or too many arguments.

    It names Spark's class unless Spark may take the call.
    """
    if _is_within(count, arity):
        return
    if _is_within(count, _IN_SPARK.get(name.lower(), arity)):
        raise refused(f"{name} with {count} arguments")
    least, most = arity
    wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    raise refused(f"{name} with {count} arguments, which takes {wanted},", error_class=_WRONG)


def ensure_pairs(name: str, count: int) -> None:
    """Raise `UnsupportedFeatureError` for a call whose arguments are no pairs."""
    if count % 2:
        raise refused(f"{name} with {count} arguments, which takes pairs,", error_class=_WRONG)


def _is_within(count: int, arity: Arity) -> bool:
    least, most = arity
    return count >= least and (most is None or count <= most)
