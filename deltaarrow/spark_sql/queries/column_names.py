"""Spark's names for columns of a select list without an alias, such as ``count(1)`` and ``(a + 1)``.

A name is the text of the expression as Spark prints it: operators in parentheses, texts without quotes, casts
only where they were written, functions under the name of their class or the alias that was called, and with
the arguments that have a default.
"""

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.schema import DataType, PrimitiveType
from deltaarrow.spark_sql.binding.expression_binding import NO_PARENTHESES, OF_STRUCT
from deltaarrow.spark_sql.binding.tree_reading import interval_of, interval_units_of, names_of, own_name
from deltaarrow.spark_sql.functions.interval import MAKING_INTERVALS
from deltaarrow.spark_sql.functions.interval_literals import interval_text
from deltaarrow.spark_sql.functions.named_types import data_type_of
from deltaarrow.spark_sql.queries.query_parsing import OUTER_NAMES, PARAMETER_PLACE, WINDOW_OF_TIME
from deltaarrow.spark_sql.queries.window_frames import CAST_BOUNDS
from deltaarrow.spark_sql.text.parsing import is_suffix, is_try
from deltaarrow.spark_sql.tree.nodes import Call, Constant, Node
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.time_zones import session_time_zone
from deltaarrow.spark_sql.types.type_rules import DATE, STRING, TIMESTAMP

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["ColumnNames"]

_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "intdiv": "div",
    "eq": "=",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "nullsafeeq": "<=>",
    "and": "AND",
    "or": "OR",
    "bitwiseand": "&",
    "bitwiseor": "|",
    "bitwisexor": "^",
    "bitwiseleftshift": "<<",
    "bitwiserightshift": ">>",
}
_NEGATED = {"neq": "=", "nullsafeneq": "<=>"}
_UPPER = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh"),
        *("cot", "csc", "degrees", "dense_rank", "e", "exp", "expm1", "floor", "hypot", "log10"),
        *("log1p", "log2", "percent_rank", "pi", "power", "radians", "rank", "sec", "signum", "sin"),
        *("sinh", "sqrt", "tan", "tanh"),
    )
)
"""Functions whose names Spark prints in upper case."""

_OTHER_NAMES = {"array_agg": "collect_list", "dateadd": "date_add", "random": "rand"}
_DEFAULTS = {
    "from_unixtime": ("yyyy-MM-dd HH:mm:ss",),
    "lag": ("1", "NULL"),
    "lead": ("1", "NULL"),
    "locate": ("", "1"),
    "lpad": ("", " "),
    "months_between": ("", "true"),
    "overlay": ("", "", "-1"),
    "approx_percentile": ("", "10000"),
    "percentile": ("", "1"),
    "percentile_approx": ("", "10000"),
    "position": ("", "1"),
    "regexp_extract": ("", "1"),
    "regexp_instr": ("", "0"),
    "regexp_replace": ("", "", "1"),
    "round": ("0",),
    "rpad": ("", " "),
    "sort_array": ("true",),
    "bround": ("0",),
    "split": ("", "-1"),
    "str_to_map": (",", ":"),
    "substr": ("", "2147483647"),
    "substring": ("", "2147483647"),
    "unix_timestamp": ("yyyy-MM-dd HH:mm:ss",),
}
"""Arguments from the second on that Spark prints where they are left out; empty for required ones."""

_TYPE_NAMES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
}
_TYPE_FUNCTIONS = frozenset(
    (
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date"),
        *("timestamp", "binary", "string"),
    )
)
_RANKS = frozenset({"row_number", "rank", "dense_rank", "ntile", "percent_rank"})
_DECIMAL_PLACES = 7


class ColumnNames:
    """Names the columns of one select list.

    `shown` gives the name of a column as it is printed inside an expression: with its struct fields, and
    without the table; `windows` are the named windows.
    """

    def __init__(
        self, shown: Callable[[tuple[str, ...]], str], windows: "Mapping[str, exp.Expr] | None" = None
    ) -> None:
        self._shown = shown
        self._windows = windows or {}

    def of(self, tree: "exp.Expr", node: Node) -> str:
        """The name of a column that is computed by an expression, whose node is `node`."""
        while tree.key == "paren":
            tree = tree.this
        names = names_of(tree)
        if names is not None and not (len(names) == 1 and names[0].lower() in NO_PARENTHESES):
            return names[-1] if names[0] != WINDOW_OF_TIME else ".".join(names[1:])
        part = _variant_part(tree)
        if part is not None:
            return part
        if tree.key in ("cast", "trycast") and not is_suffix(tree):
            inner = names_of(tree.this)
            if inner is None:
                named = _variant_part(tree.this)
            else:
                is_field = self._shown(inner).endswith(f".{inner[-1]}")
                named = None if is_field else inner[-1]
            if named is not None:
                return named
        if tree.key == "anonymous" and str(tree.this).lower() in _TYPE_FUNCTIONS:
            inner = names_of(tree.expressions[0]) if len(tree.expressions) == 1 else None
            if inner is not None:
                return self._shown(inner)
        if tree.key in ("add", "sub") and isinstance(node, Call) and node.name == "date_add":
            return self._days(tree, node)
        if tree.key in ("add", "sub") and tree.expression.key == "interval" and node.type == DATE:
            return self._moved_days(tree)
        if tree.key in ("add", "sub") and isinstance(node, Call) and node.name == "interval":
            if node.type == DATE and not _is_interval(tree.expression):
                return self._moved_by_days(tree)
            return f"{self._text(tree.this)} {_OPERATORS[tree.key]} {self._text(tree.expression)}"
        return self._text(tree)

    def _days(self, tree: "exp.Expr", node: Node) -> str:
        """A date plus or minus days, which Spark prints as a function."""
        left, right = self._text(tree.this), self._text(tree.expression)
        if tree.key == "sub":
            return f"date_sub({left}, {right})"
        assert isinstance(node, Call)
        is_swapped = tree.this.key == "literal" and not tree.this.is_string
        return f"date_add({right}, {left})" if is_swapped else f"date_add({left}, {right})"

    def _moved_days(self, tree: "exp.Expr") -> str:
        """A date plus or minus an interval, which Spark prints as a function of its days."""
        if interval_units_of(tree.expression) != ("DAY", "DAY"):
            return self._text(tree)
        return self._moved_by_days(tree)

    def _moved_by_days(self, tree: "exp.Expr") -> str:
        days = f"extractansiintervaldays({self._text(tree.expression)})"
        return f"date_add({self._text(tree.this)}, {f'(- {days})' if tree.key == 'sub' else days})"

    def _text(self, tree: "exp.Expr") -> str:
        names = names_of(tree)
        if names is not None:
            if len(names) == 1 and names[0].lower() in NO_PARENTHESES:
                return f"{names[0].lower()}()"
            return self._shown(names)
        if tree.key in _OPERATORS:
            text = f"{self._text(tree.this)} {_OPERATORS[tree.key]} {self._text(tree.expression)}"
            has_interval = tree.key in ("add", "sub") and _is_interval(tree.expression)
            return text if has_interval else f"({text})"
        if tree.key in _NEGATED:
            return f"(NOT ({self._text(tree.this)} {_NEGATED[tree.key]} {self._text(tree.expression)}))"
        own = _TEXTS.get(tree.key)
        return own(self, tree) if own is not None else tree.sql(dialect="spark")

    def _listed(self, trees: "Sequence[exp.Expr]") -> str:
        return ", ".join(map(self._text, trees))

    def _not(self, tree: "exp.Expr") -> str:
        inner = tree.this
        while inner.key == "paren":
            inner = inner.this
        if inner.key == "is" and inner.expression.key == "null":
            return f"({self._text(inner.this)} IS NOT NULL)"
        return f"(NOT {self._text(inner)})"

    def _is(self, tree: "exp.Expr") -> str:
        if tree.expression.key == "null":
            return f"({self._text(tree.this)} IS NULL)"
        return f"({self._text(tree.this)} <=> {self._text(tree.expression)})"

    def _in(self, tree: "exp.Expr") -> str:
        if tree.args.get("query") is None:
            return f"({self._text(tree.this)} IN ({self._listed(tree.expressions)}))"
        operand = self._tuple(tree.this, "'") if tree.this.key == "tuple" else self._text(tree.this)
        return f"({operand} IN (listquery()))"

    def _between(self, tree: "exp.Expr") -> str:
        return f"between({self._listed([tree.this, tree.args['low'], tree.args['high']])})"

    def _like(self, tree: "exp.Expr", escape: str = "") -> str:
        operand, is_negated = self._text(tree.this), tree.args.get("negate")
        if tree.expression.key in ("any", "all"):
            operand = f"lower({operand})" if tree.key == "ilike" else operand
            listed = tree.expression.this
            patterns = listed.expressions or [listed.this]
            if all(each.key == "literal" and each.is_string for each in patterns):
                return f"{'not' if is_negated else ''}like{tree.expression.key}({operand})"
            return self._any_or_all(operand, tree, patterns)
        pattern = self._text(tree.expression)
        text = f"ilike({operand}, {pattern})" if tree.key == "ilike" else f"{operand} LIKE {pattern}{escape}"
        return f"(NOT {text})" if is_negated else text

    def _any_or_all(self, operand: str, tree: "exp.Expr", patterns: "Sequence[exp.Expr]") -> str:
        """LIKE ANY and LIKE ALL of patterns that are no literals, which Spark prints one by one."""
        word = "OR" if tree.expression.key == "any" else "AND"
        texts = [f"{operand} LIKE {self._text(each)}" for each in patterns]
        if tree.args.get("negate"):
            texts = [f"(NOT {each})" for each in texts]
        return functools.reduce(lambda before, each: f"({before} {word} {each})", texts)

    def _escaped_like(self, tree: "exp.Expr") -> str:
        return self._like(tree.this, f" ESCAPE '{tree.expression.this}'")

    def _matches(self, tree: "exp.Expr") -> str:
        text = f"RLIKE({self._text(tree.this)}, {self._text(tree.expression)})"
        return f"(NOT {text})" if tree.args.get("negate") else text

    def _case(self, tree: "exp.Expr") -> str:
        parts = []
        for each in tree.args["ifs"]:
            condition = self._text(each.this)
            if tree.this is not None:
                condition = f"({self._text(tree.this)} = {condition})"
            parts.append(f"WHEN {condition} THEN {self._text(each.args['true'])}")
        default = tree.args.get("default")
        otherwise = f" ELSE {self._text(default)}" if default is not None else ""
        return f"CASE {' '.join(parts)}{otherwise} END"

    def _cast(self, tree: "exp.Expr") -> str:
        if is_suffix(tree):
            return self._suffixed(tree)
        word = "TRY_CAST" if is_try(tree) else "CAST"
        return f"{word}({self._text(tree.this)} AS {_type(tree.args['to'])})"

    def _variant(self, tree: "exp.Expr") -> str:
        steps = (
            f".{each.this}" if each.key == "jsonpathkey" else f"[{each.this}]"
            for each in tree.expression.expressions[1:]
        )
        text = f"variant_get({self._text(tree.this)}, ${''.join(steps)})"
        part = _variant_part(tree)
        return text if part is None else f"{text} AS {part}"

    def _suffixed(self, tree: "exp.Expr") -> str:
        """A number with a suffix, such as ``1L``, or a literal such as ``DATE'2020-01-01'``."""
        kind = _type(tree.args["to"])
        if tree.this.is_string and kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
            return f"{kind} '{_time_text(tree.this.this, data_type_of(tree.args['to']))}'"
        if kind in ("DOUBLE", "FLOAT"):
            return _java_double(float(tree.this.this))
        return str(tree.this.this)

    def _literal(self, tree: "exp.Expr") -> str:
        text = str(tree.this)
        if tree.is_string or "e" not in text.lower():
            return text if tree.is_string else _plain_number(text)
        return _java_double(float(text))

    def _negative(self, tree: "exp.Expr") -> str:
        inner = tree.this
        if (inner.key == "literal" and not inner.is_string) or is_suffix(inner):
            text = self._text(inner)
            return text if text == "0.0" else f"-{text}"
        return f"(- {self._text(inner)})"

    def _element(self, tree: "exp.Expr") -> str:
        place = self._text(tree.expressions[0])
        return f"{self._text(tree.this)}{f'.{place}' if tree.meta.get(OF_STRUCT) else f'[{place}]'}"

    def _function(self, tree: "exp.Expr") -> str:
        name, operands = str(tree.this).lower(), list(tree.expressions)
        distinct = ""
        if len(operands) == 1 and operands[0].key == "distinct":
            distinct, operands = "DISTINCT ", list(operands[0].expressions)
        given = [self._text(each) for each in operands]
        if name in ("if", "iff") and len(given) == 3:
            return f"(IF({', '.join(given)}))"
        if name in ("isnull", "isnotnull") and len(given) == 1:
            return f"({given[0]} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
        if name in ("first", "last", "first_value", "last_value", "any_value"):
            given = given[:1]
        if name == "count" and given == ["*"]:
            given = ["1"]
        if name == "like" and len(given) == 2:
            return " LIKE ".join(given)
        if name == "log":
            return f"LOG({', '.join(given if len(given) == 2 else ['E()', *given])})"
        if name in _TYPE_FUNCTIONS and len(given) == 1:
            return given[0]
        if name == "positive" and len(given) == 1:
            return f"(+ {given[0]})"
        if name in ("ltrim", "rtrim") and len(given) == 2:
            return f"TRIM({'LEADING' if name == 'ltrim' else 'TRAILING'} {given[0]} FROM {given[1]})"
        if name == "datepart" and len(given) == 2:
            return f"datepart({given[0]} FROM {given[1]})"
        if name in ("aggregate", "reduce") and len(given) == 3:
            given.append("lambdafunction(namedlambdavariable(), namedlambdavariable())")
        if name == "convert_timezone" and len(given) == 2:
            given = ["current_timezone()", *given]
        if name == "struct":
            given = [self._part(each) for each in operands]
        if name in ("dateadd", "date_add") and len(given) == 3:
            name = "timestampadd"
        given += [each for each in _DEFAULTS.get(name, ())[len(given) - 1 :] if each] if given else []
        shown = name.upper() if name in _UPPER else _OTHER_NAMES.get(name, name)
        return f"{shown}({distinct}{', '.join(given)})"

    def _tuple(self, tree: "exp.Expr", quote: str = "") -> str:
        parts = []
        for place, each in enumerate(tree.expressions, 1):
            parts += [f"{quote}{own_name(each) or f'col{place}'}{quote}", self._part(each)]
        return f"named_struct({', '.join(parts)})"

    def _part(self, tree: "exp.Expr") -> str:
        """A value of a struct, which may have an alias."""
        return f"{self._text(tree)} AS {tree.alias}" if tree.key == "alias" else self._text(tree)

    def _filter(self, tree: "exp.Expr") -> str:
        return f"{self._text(tree.this)} FILTER (WHERE {self._text(tree.expression.this)})"

    def _window(self, tree: "exp.Expr") -> str:
        function = tree.this
        name = str(function.this).lower() if function.key == "anonymous" else ""
        parts = []
        if tree.args.get("alias") is not None:
            tree = self._windows[tree.args["alias"].name.lower()]
        if tree.args.get("partition_by"):
            parts.append(f"PARTITION BY {self._listed(tree.args['partition_by'])}")
        order = tree.args.get("order")
        if order is not None:
            parts.append(f"ORDER BY {', '.join(map(self._ordered, order.expressions))}")
        parts.append(self._frame(tree.args.get("spec"), name, function, is_ordered=order is not None))
        return f"{self._text(function)} OVER ({' '.join(parts)})"

    def _ordered(self, tree: "exp.Expr") -> str:
        direction = "DESC" if tree.args.get("desc") else "ASC"
        return (
            f"{self._text(tree.this)} {direction} NULLS {'FIRST' if tree.args.get('nulls_first') else 'LAST'}"
        )

    def _frame(self, spec: "exp.Expr | None", name: str, function: "exp.Expr", *, is_ordered: bool) -> str:
        if name in ("lag", "lead"):
            given = [self._text(each) for each in function.expressions]
            distance = given[1] if len(given) > 1 else "1"
            if name == "lag":
                distance = distance[1:] if distance.startswith("-") else f"-{distance}"
            return f"ROWS BETWEEN {distance} FOLLOWING AND {distance} FOLLOWING"
        if spec is not None:
            is_cast = spec.meta.get(CAST_BOUNDS, False)
            start = _bound(self, spec.args.get("start"), spec.args.get("start_side"), is_cast=is_cast)
            end, side = spec.args.get("end"), spec.args.get("end_side")
            last = "CURRENT ROW" if end is None else _bound(self, end, side, is_cast=is_cast)
            return f"{str(spec.args['kind']).upper()} BETWEEN {start} AND {last}"
        if name in _RANKS:
            return "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        if is_ordered:
            return "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"

    def _subquery(self, tree: "exp.Expr") -> str:
        return f"scalarsubquery({', '.join(tree.meta.get(OUTER_NAMES, ()))})"

    def _lambda(self, tree: "exp.Expr") -> str:
        names = {each.name.lower() for each in tree.expressions}
        inner = ColumnNames(
            lambda path: (
                "namedlambdavariable()" + "".join(f".{each}" for each in path[1:])
                if path[0].lower() in names
                else self._shown(path)
            )
        )
        variables = ["namedlambdavariable()"] * len(tree.expressions)
        return f"lambdafunction({', '.join([inner._text(tree.this), *variables])})"

    def _interval(self, tree: "exp.Expr") -> str:
        length = interval_of(tree)
        assert length is not None
        return interval_text(length, interval_units_of(tree))

    def _identifier(self, tree: "exp.Expr") -> str:
        return self._shown((tree.name,))

    def _parameter(self, tree: "exp.Expr") -> str:
        return f":{tree.this}" if PARAMETER_PLACE not in tree.meta else "?"


def _variant_part(tree: "exp.Expr") -> str | None:
    """The last field of a path into a variant, by which Spark names it; None for any other expression."""
    while tree.key == "paren":
        tree = tree.this
    if tree.key != "jsonextract":
        return None
    keys = [str(each.this) for each in tree.expression.expressions if each.key == "jsonpathkey"]
    return keys[-1] if keys else None


_TEXTS: "dict[str, Callable[[ColumnNames, exp.Expr], str]]" = {
    "alias": lambda names, tree: names._text(tree.this),
    "anonymous": ColumnNames._function,
    "between": ColumnNames._between,
    "bitwisenot": lambda names, tree: f"~{names._text(tree.this)}",
    "boolean": lambda _, tree: "true" if tree.this else "false",
    "bracket": ColumnNames._element,
    "case": ColumnNames._case,
    "cast": ColumnNames._cast,
    "concat": lambda _, tree: "".join(str(each.this) for each in tree.expressions),
    "dot": lambda names, tree: f"{names._text(tree.this)}.{tree.expression.name}",
    "dpipe": lambda names, tree: f"concat({names._text(tree.this)}, {names._text(tree.expression)})",
    "exists": lambda _, tree: f"exists({', '.join(tree.meta.get(OUTER_NAMES, ()))})",
    "escape": ColumnNames._escaped_like,
    "extract": lambda names, tree: f"extract({tree.this.name} FROM {names._text(tree.expression)})",
    "filter": ColumnNames._filter,
    "hexstring": lambda _, tree: f"X'{'0' * (len(tree.this) % 2)}{tree.this.upper()}'",
    "identifier": ColumnNames._identifier,
    "ilike": ColumnNames._like,
    "ignorenulls": lambda names, tree: names._text(tree.this),
    "in": ColumnNames._in,
    "interval": ColumnNames._interval,
    "is": ColumnNames._is,
    "jsonextract": ColumnNames._variant,
    "lambda": ColumnNames._lambda,
    "like": ColumnNames._like,
    "literal": ColumnNames._literal,
    "neg": ColumnNames._negative,
    "not": ColumnNames._not,
    "null": lambda *_: "NULL",
    "rawstring": lambda _, tree: str(tree.this),
    "paren": lambda names, tree: names._text(tree.this),
    "placeholder": ColumnNames._parameter,
    "regexplike": ColumnNames._matches,
    "respectnulls": lambda names, tree: names._text(tree.this),
    "star": lambda *_: "*",
    "subquery": ColumnNames._subquery,
    "trycast": ColumnNames._cast,
    "tuple": ColumnNames._tuple,
    "window": ColumnNames._window,
}
"""The method that prints each kind of sqlglot node, by node key."""


def _bound(names: ColumnNames, bound: object, side: object, *, is_cast: bool) -> str:
    if bound == "UNBOUNDED":
        return f"UNBOUNDED {side}"
    if isinstance(bound, str):
        return bound
    text = names._text(bound)  # type: ignore[arg-type]
    return f"(- {text}) FOLLOWING" if is_cast and side == "PRECEDING" else f"{text} {side}"


def _type(tree: "exp.Expr") -> str:
    found = data_type_of(tree)
    if not isinstance(found, PrimitiveType):
        return tree.sql(dialect="spark")
    return _TYPE_NAMES.get(found.type, found.type.upper())


def _time_text(text: str, kind: DataType) -> str:
    """The text of a literal of a date or a time as Spark prints it: in the session time zone."""
    found = cast(Constant(text, STRING), kind)
    value = found.value if isinstance(found, Constant) else None
    if isinstance(value, datetime.datetime):
        local = session_time_zone().local_time_of(value) if kind == TIMESTAMP else value
        shown = local.isoformat(" ")
        return shown.rstrip("0") if local.microsecond else shown
    return text if value is None else str(value)


def _plain_number(text: str) -> str:
    return f"{Decimal(text):f}" if "." in text else str(int(text))


def _java_double(value: float) -> str:
    """The text of a double as Java prints it.

    >>> _java_double(1000.0), _java_double(1e10), _java_double(0.0001)
    ('1000.0', '1.0E10', '1.0E-4')
    """
    if value == 0 or 1e-3 <= abs(value) < 10**_DECIMAL_PLACES:
        return f"{Decimal(repr(value)):f}" if "." in repr(value) else f"{value:.1f}"
    digits, _, exponent = f"{Decimal(repr(value)).normalize():e}".partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _is_interval(tree: "exp.Expr") -> bool:
    """Whether a tree is an interval, which Spark adds without brackets."""
    return tree.key == "interval" or (tree.key == "anonymous" and str(tree.this).lower() in MAKING_INTERVALS)
