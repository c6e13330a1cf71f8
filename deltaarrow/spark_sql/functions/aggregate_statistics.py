"""Statistical aggregate functions: variance, moments, regression and percentiles.

A number that is not finite makes a variance or a regression NaN, as in Spark. The last digits depend on the
order of rows, in Spark and here.
"""

from collections.abc import Callable

from deltaarrow.schema import ArrayType
from deltaarrow.spark_sql.functions.function import literal_integer
from deltaarrow.spark_sql.rendering.rows import Rows, RowsCall
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import Call, Constant, Node, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import as_number
from deltaarrow.spark_sql.types.type_rules import DATE, DOUBLE, LONG, TIMESTAMPS, decimal_of, type_name

__all__ = [
    "MOMENTS",
    "PAIRS",
    "approximate",
    "bind_moment",
    "bind_pair",
    "median",
    "percentile",
    "percentile_within",
]

MOMENTS = (
    ("stddev_samp", "stddev", "std"),
    ("stddev_pop",),
    ("var_samp", "variance"),
    ("var_pop",),
    ("skewness",),
    ("kurtosis",),
)
"""The names of aggregates of one column of numbers."""

_NAN = "'nan'::DOUBLE"
_CLEAN = "CASE WHEN isfinite({0}) THEN {0} END"


def bind_moment(name: str) -> Callable[..., Node]:
    """How a call of one of `MOMENTS` is bound."""

    def bind(rows: Rows, operand: Node) -> Node:
        made = RowsCall(rows, (cast(as_number(operand, name), DOUBLE),))
        least = 2 if name.endswith("_samp") else 1
        odd = made.sql("count", where="NOT isfinite({0})")
        found = _shape(made, name) if name in ("skewness", "kurtosis") else made.sql(name, _CLEAN)
        sql = f"CASE WHEN {made.sql('count')} < {least} THEN NULL WHEN {odd} > 0 THEN {_NAN}"
        return made.node(name, DOUBLE, f"{sql} ELSE {found} END", fails=True)

    return bind


def _shape(made: RowsCall, name: str) -> str:
    values = made.sql("list", "{0}", "isfinite({0})")
    moments = {
        f"m{power}": f"list_sum(list_transform(xs, lambda x: {' * '.join(['(x - a)'] * power)}))"
        for power in (2, 3, 4)
    }
    skewness = "CASE WHEN m2 > 0 THEN sqrt(len(xs)::DOUBLE) * m3 / sqrt(m2 * m2 * m2) END"
    kurtosis = "CASE WHEN m2 > 0 THEN len(xs)::DOUBLE * m4 / (m2 * m2) - 3 END"
    return let(skewness if name == "skewness" else kurtosis, xs=values, a="list_avg(xs)", **moments)


_ZERO = raising("DIVIDE_BY_ZERO", "division by zero")
PAIRS = {
    "covar_pop": "{covar_pop}",
    "covar_samp": "CASE WHEN {count} > 1 THEN {covar_samp} END",
    "corr": f"CASE WHEN {{count}} > 1 THEN CASE WHEN {{regr_sxx}} = 0 OR {{regr_syy}} = 0 THEN {_ZERO}"
    " ELSE {corr} END END",
    "regr_count": "{count}",
    "regr_sxx": "{regr_sxx}",
    "regr_sxy": "{regr_sxy}",
    "regr_syy": "{regr_syy}",
    "regr_slope": "CASE WHEN {regr_sxx} > 0 THEN {regr_sxy} / {regr_sxx} END",
    "regr_intercept": "CASE WHEN {regr_sxx} > 0 THEN {sumy} / {count} - {regr_sxy} / {regr_sxx} *"
    " ({sumx} / {count}) END",
    "regr_r2": "CASE WHEN {regr_sxx} > 0 THEN CASE WHEN {regr_syy} = 0 THEN 1 ELSE"
    " {regr_sxy} * {regr_sxy} / ({regr_sxx} * {regr_syy}) END END",
}
"""The aggregates of two columns of numbers, over the rows that have both, and their SQL."""


def bind_pair(name: str) -> Callable[..., Node]:
    """How a call of one of `PAIRS` is bound."""

    def bind(rows: Rows, y: Node, x: Node) -> Node:
        made = RowsCall(rows, (cast(as_number(y, name), DOUBLE), cast(as_number(x, name), DOUBLE)))
        both = "{0} IS NOT NULL AND {1} IS NOT NULL"
        finite = "isfinite({0}) AND isfinite({1})"
        clean = ", ".join(f"CASE WHEN {finite} THEN {place} END" for place in ("{0}", "{1}"))
        parts = {
            each: made.sql(each, clean)
            for each in ("covar_pop", "covar_samp", "corr", "regr_sxx", "regr_sxy", "regr_syy")
        }
        parts["count"] = made.sql("count", "*", both)
        parts["sumx"], parts["sumy"] = made.sql("sum", "{1}", both), made.sql("sum", "{0}", both)
        if name in ("regr_sxx", "regr_syy"):
            column = "{1}" if name == "regr_sxx" else "{0}"
            one = f"CASE WHEN {both} AND isfinite({column}) THEN {column} END"
            parts[name] = made.sql(name, f"{one}, {one}")
        sql = PAIRS[name].format(**parts)
        if name == "regr_count":
            return made.node(name, LONG, sql)
        # Each of these two is about one column alone.
        finite = {"regr_sxx": "isfinite({1})", "regr_syy": "isfinite({0})"}.get(name, finite)
        odd = made.sql("count", "*", f"{both} AND NOT ({finite})")
        least = 2 if name in ("covar_samp", "corr") else 1
        checked = f"CASE WHEN {parts['count']} < {least} THEN NULL WHEN {odd} > 0 THEN {_NAN} ELSE {sql} END"
        return made.node(name, DOUBLE, f"CAST({checked} AS DOUBLE)", fails=True)

    return bind


def median(rows: Rows, operand: Node) -> Node:
    """The middle number, or the mean of the two in the middle."""
    return _percentile("median", rows, operand, [0.5], is_list=False)


def percentile(rows: Rows, operand: Node, share: Node) -> Node:
    """The number below which a share of all lies, between two numbers in proportion."""
    shares, is_list = _shares(share, "percentile")
    return _percentile("percentile", rows, operand, shares, is_list=is_list)


def percentile_within(kind: str) -> Callable[..., Node]:
    """``percentile_cont`` and ``percentile_disc`` of the numbers that ``WITHIN GROUP`` orders."""
    name = f"percentile_{kind}"

    def bind(rows: Rows, share: Node) -> Node:
        if len(rows.order) != 1:
            raise refused(f"{name} without WITHIN GROUP (ORDER BY number)")
        key = rows.order[0]
        shares, is_list = _shares(share, name)
        plain = Rows(rows.distinct, rows.where, rows.window)
        return _percentile(name, plain, key.node, shares, is_list=is_list, descending=key.descending)

    return bind


def approximate(rows: Rows, operand: Node, share: Node, accuracy: Node | None = None) -> Node:
    """``percentile_approx``: the least value that a share of all does not exceed, which is exact here."""
    name = "percentile_approx"
    shares, is_list = _shares(share, name)
    parts = 10_000 if accuracy is None else literal_integer(accuracy, "the accuracy of percentile_approx")
    if parts < 1:
        raise refused(f"{name} with the accuracy {parts}")
    if operand.type not in (DATE, *TIMESTAMPS):
        operand = as_number(operand, name)
    digits = decimal_of(operand.type)
    if digits is not None and digits[0] > _DOUBLE_DIGITS:
        raise refused(f"{name} of {type_name(operand.type)}, which Spark rounds to a double,")
    value = "x"
    if operand.type == LONG:
        # Spark keeps all values as doubles.
        double = "CAST(x AS DOUBLE)"
        value = f"CASE WHEN {double} >= {2**63} THEN {2**63 - 1} ELSE CAST({double} AS BIGINT) END"
    made = RowsCall(rows, (operand,))
    listed = made.sql("list", "{0} ORDER BY {0}", "{0} IS NOT NULL")
    found = ", ".join(let(value, x=f"xs[{_rank(each, parts)}]") for each in shares)
    sql = let(f"CASE WHEN len(xs) > 0 THEN {f'[{found}]' if is_list else found} END", xs=listed)
    return made.node(name, ArrayType(operand.type, contains_null=False) if is_list else operand.type, sql)


_DOUBLE_DIGITS = 15


def _rank(share: float, parts: int) -> str:
    """The place of a share among ordered values; one that is near an end of all is at the end."""
    if share <= 1 / parts:
        return "1"
    return "len(xs)" if share >= 1 - 1 / parts else f"CAST(ceil(len(xs) * {share!r}::DOUBLE) AS BIGINT)"


def _shares(share: Node, name: str) -> tuple[list[float], bool]:
    is_list = isinstance(share.type, ArrayType)
    nodes = share.operands if isinstance(share, Call) and share.name == "array" else (share,)
    found = []
    for each in nodes:
        value = each.value if isinstance(each, Constant) else None
        if value is None or isinstance(value, str | bool | bytes) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
            raise refused(f"{name} with a share that is not a literal from 0 to 1")
        found.append(float(value))  # type: ignore[arg-type]
    return found, is_list


def _percentile(
    name: str, rows: Rows, operand: Node, shares: list[float], *, is_list: bool, descending: bool = False
) -> Node:
    if rows.distinct:
        raise refused(f"{name} of DISTINCT values")
    made = RowsCall(rows, (cast(as_number(operand, name), DOUBLE),))
    order = "DESC" if descending else "ASC"
    listed = made.sql("list", f"{{0}} ORDER BY {{0}} {order}", "{0} IS NOT NULL")
    place = _discrete if name == "percentile_disc" else _continuous
    parts = [place(each) for each in shares]
    sql = let(
        f"CASE WHEN len(xs) > 0 THEN {f'[{chr(44).join(parts)}]' if is_list else parts[0]} END", xs=listed
    )
    return made.node(name, ArrayType(DOUBLE, contains_null=False) if is_list else DOUBLE, sql)


def _continuous(share: float) -> str:
    between = "(ceil(p) - p) * xs[floor(p)::BIGINT + 1] + (p - floor(p)) * xs[ceil(p)::BIGINT + 1]"
    equal = "xs[floor(p)::BIGINT + 1] = xs[ceil(p)::BIGINT + 1]"
    sql = f"CASE WHEN {equal} THEN xs[floor(p)::BIGINT + 1] ELSE {between} END"
    return let(sql, p=f"(len(xs) - 1) * {share!r}::DOUBLE")


def _discrete(share: float) -> str:
    return f"xs[greatest(ceil(len(xs) * {share!r}::DOUBLE), 1)::BIGINT]"
