"""Binding of SQL text to the typed tree; every node, type and function must be on a list.

`parse_expression` is the only way from text to an `Expression`, and only an `Expression` is rendered and
evaluated.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import deltaarrow.spark_sql.functions.binders as binders
from deltaarrow.errors import DeltaError, SchemaMismatchError
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    IntervalType,
    MapType,
    StructType,
    char_length,
    fields_within,
)
from deltaarrow.spark_sql.binding.scope import Fields, Scope, TableScope, has_collation
from deltaarrow.spark_sql.binding.tree_reading import (
    folded,
    interval_of,
    interval_units_of,
    is_plain,
    joined_by_and,
    names_of,
    number_of,
    own_name,
    suffixed_number,
    unfolded,
)
from deltaarrow.spark_sql.functions.interval_literals import Interval, moved
from deltaarrow.spark_sql.functions.named_types import CAST_FUNCTIONS, data_type_of
from deltaarrow.spark_sql.functions.operators import (
    all_of,
    any_of,
    arithmetic,
    compare,
    is_in,
    is_null,
    negate,
    negative,
)
from deltaarrow.spark_sql.functions.storing import storable
from deltaarrow.spark_sql.text.parsing import is_suffix, is_try, parse_tree
from deltaarrow.spark_sql.tree.nodes import (
    ColumnRef,
    Constant,
    Expression,
    Node,
    Path,
    call,
    mismatched,
    refused,
)
from deltaarrow.spark_sql.tree.positioned_errors import call_at, place_at, placed_in
from deltaarrow.spark_sql.types.casts import cast, cast_mismatch
from deltaarrow.spark_sql.types.char_comparison import PLAIN, padded_list, padded_pair
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    STRING,
    VARIANT,
    VOID,
    is_numeric,
    sql_type,
    type_name,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "NO_PARENTHESES",
    "OF_STRUCT",
    "BindPart",
    "bind_tree",
    "parse_column",
    "parse_expression",
    "parse_interval",
    "parse_parts",
]

_COMPARISONS = {
    "eq": "=",
    "neq": "<>",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "nullsafeeq": "IS NOT DISTINCT FROM",
    "nullsafeneq": "IS DISTINCT FROM",
}
"""The key of a comparison in sqlglot's tree -> its operator in DuckDB's SQL."""

OF_STRUCT = "of struct"
"""Whether ``value['name']`` is a field, among the metadata of its node."""

NO_PARENTHESES = frozenset({"current_date", "current_timestamp", "localtimestamp"})
_INSTEAD = {"approx_count_distinct": " (write count(DISTINCT value), which is exact)"}
"""What to write in place of functions whose values cannot be those of Spark."""


def parse_expression(
    text: str, schema: StructType | Scope, target: DataType | None = None, *, is_stored: bool = True
) -> Expression:
    """Parse a Spark SQL expression over the columns of a schema.

    Args:
        text: a CHECK constraint, an invariant, a generation expression or a default; or a user's expression
            on the rows of one table or of several.
        schema: the logical schema, or another scope that resolves names; names match in any case, as in
            Spark.
        target: the type that the result is cast to; the expression's own type if None.
        is_stored: whether a table stores the text, which then has to be short, and its value exact.

    Raises:
        UnsupportedFeatureError: the text uses a function, an operator, a type or a notation that is not on
            the list; the error names it.
        SchemaMismatchError: the text names a column that does not exist.

    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("price", "decimal(10,2)"), Field("count", "integer")])
    >>> expression = parse_expression("Price * count", schema)
    >>> expression.type, expression.columns
    (PrimitiveType("decimal(21,2)"), (('price',), ('count',)))
    """
    try:
        with placed_in(text):
            bound = _Binder(_scope(schema)).bind(parse_tree(text, is_stored=is_stored))
            found = bound if target is None else cast(bound, target)
            if is_stored:
                found = storable(found)
            return Expression(text, found)
    except RecursionError as error:
        raise refused("deep nesting") from error


def parse_parts(
    text: str, schema: StructType | Scope, *, chooses_files: bool = False
) -> Iterator[tuple[Node, str]]:
    """Yield the parts that AND joins in a user's condition, each with its own text.

    The text may have any length and comments. With `chooses_files`, parts may use variants, which no engine
    computes on rows.

    Raises as `parse_expression` does.
    """
    try:
        tree = parse_tree(text, is_stored=False)
        binder = _Binder(_scope(schema), chooses_files=chooses_files)
        found = list(joined_by_and(tree))
        for each in found:
            yield binder.bind(each), each.sql(dialect="spark", comments=False) if len(found) > 1 else text
    except RecursionError as error:
        raise refused("deep nesting") from error


BindPart: TypeAlias = Callable[["exp.Expr", Callable[["exp.Expr"], Node]], Node | None]
"""Binds a part that only queries have, given the binder of what is below it; None for any other part."""


def bind_tree(tree: "exp.Expr", scope: Scope, bind_part: BindPart) -> Node:
    """The typed tree of a parsed expression inside a query.

    Args:
        tree: from `parse_statement`.
        scope: resolves the names that `bind_part` leaves.
        bind_part: is asked first, for every part.

    Raises as `parse_expression` does.
    """
    return _Binder(scope, bind_part=bind_part).bind(tree)


def parse_column(text: str, schema: StructType | Scope) -> tuple[Path, Field] | None:
    """The path and the field if a user's text is just a column of any type, else None.

    Raises as `parse_expression` does if the column does not exist.
    """
    names = names_of(parse_tree(text, is_stored=False))
    if names is None or (len(names) == 1 and names[0].lower() in NO_PARENTHESES):
        return None
    path, fields = _scope(schema).resolve(names)
    return path, fields[-1]


def parse_interval(text: str) -> Interval:
    """The length of an INTERVAL literal, or of a sum of them.

    Raises `UnsupportedFeatureError` for any other text.

    >>> parse_interval("INTERVAL 1 HOUR 30 MINUTES").microseconds
    5400000000
    """
    with placed_in(text):
        found = interval_of(parse_tree(text))
    if found is None:
        raise refused(f"{text!r}, which is no INTERVAL,")
    return found


def _scope(schema: StructType | Scope) -> Scope:
    return TableScope(schema) if isinstance(schema, StructType) else schema


def _written_cast(operand: Node, wanted: DataType, make: Callable[[Node, DataType], Node] = cast) -> Node:
    """A cast that a user wrote, which Spark refuses by a class of its own."""
    kind = cast_mismatch(operand.type, wanted)
    if kind is not None:
        raise mismatched(kind, f"a cast from {type_name(operand.type)} to {type_name(wanted)}")
    return make(operand, wanted)


class _Binder:
    def __init__(
        self, scope: Scope, *, chooses_files: bool = False, bind_part: BindPart | None = None
    ) -> None:
        self.scope = scope
        self.chooses_files = chooses_files
        self.bind_part = bind_part
        self.variables: list[dict[str, Node]] = []

    def bind(self, node: "exp.Expr") -> Node:
        return call_at(self._bound(node), node)

    def _bound(self, node: "exp.Expr") -> Node:
        if self.bind_part is not None:
            found = self.bind_part(node, self.bind)
            if found is not None:
                return found
        try:
            rule = _RULES.get(node.key)
            if rule is None or not is_plain(node):
                is_query = node.key in ("exists", "subquery") or node.args.get("query") is not None
                raise refused("a subquery" if is_query else node.key.upper())
            return rule(self, node)
        except DeltaError as error:
            place_at(error, node)
            raise

    def _compare(self, node: "exp.Expr") -> Node:
        left, right = self._both(node)
        if PLAIN not in node.meta:
            left, right = padded_pair(left, right)
        return compare(left, right, _COMPARISONS[node.key])

    def _both(self, node: "exp.Expr") -> tuple[Node, Node]:
        return self.bind(node.this), self.bind(node.expression)

    def _chain(self, node: "exp.Expr") -> tuple[Node, ...]:
        """The operands of a chain of ANDs or ORs, flattened."""
        found = []
        below = node
        while below.key == node.key:
            if not is_plain(below):
                raise refused(below.key.upper())
            found.append(below.expression)
            below = below.this
        return tuple(self.bind(each) for each in (below, *reversed(found)))

    def _column(self, node: "exp.Expr") -> Node:
        names = names_of(node)
        if names is None:
            raise refused(f"{node.key.upper()} of something other than a column")
        try:
            found = self._resolved(names)
        except SchemaMismatchError:
            part = self._part_of_collection(names)
            if part is None:
                raise
            return part
        if found is None:
            function = binders.find_function(names[0])
            assert function is not None
            return function(names[0], ())
        return self._reference(names, *found)

    def _part_of_collection(self, names: tuple[str, ...]) -> Node | None:
        """``array.field`` and ``map.key``; None for other names."""
        for length in range(len(names) - 1, 0, -1):
            try:
                path, fields = self.scope.resolve(names[:length])
            except SchemaMismatchError:
                continue
            if not isinstance(fields[-1].type, ArrayType | MapType):
                return None
            node = self._reference(names[:length], path, fields)
            for name in names[length:]:
                node = binders.field_of(node, name)
            return node
        return None

    def _reference(self, names: tuple[str, ...], path: Path, fields: Fields) -> Node:
        last = fields[-1]
        sql_type(last.type)
        if VOID in leaf_types(last.type):
            raise refused(f"a value of type {type_name(last.type)}")
        if has_collation((*fields, *fields_within(last.type))):
            raise refused(f"the column {'.'.join(names)}, whose text is compared by rules of its own,")
        return ColumnRef(path, last.type, characters=char_length(last) or 0)

    def _dot(self, node: "exp.Expr") -> Node:
        """A column by its path, or a field of another value."""
        if names_of(node) is not None:
            return self._column(node)
        if node.expression.key != "identifier":
            raise refused(f"{node.key.upper()} of something other than a column")
        return binders.field_of(self.bind(node.this), node.expression.name)

    def _resolved(self, names: tuple[str, ...]) -> tuple[Path, Fields] | None:
        """The path to a column; None for a function that may be called without parentheses."""
        try:
            return self.scope.resolve(names)
        except SchemaMismatchError:
            if len(names) == 1 and names[0].lower() in NO_PARENTHESES:
                return None
            raise

    def _function(self, node: "exp.Expr") -> Node:
        name = node.this
        function = binders.find_function(name) if isinstance(name, str) else None
        operands = node.expressions
        by_unit = binders.BY_UNIT.get(str(name).lower())
        if by_unit is not None and len(operands) == 3:
            unit = names_of(operands[0]) or ("",)
            return by_unit(".".join(unit), *map(self.bind, operands[1:]))
        if str(name).lower() == "struct":
            return self._tuple(node)
        if self.chooses_files and str(name).lower() in ("variant_get", "try_variant_get"):
            return binders.variant_part(*map(self.bind, operands))
        if function is not None:
            bind = self._argument if function.takes_more else self._value_or_lambda
            return function(name, tuple(map(bind, operands)))
        target = CAST_FUNCTIONS.get(str(name).lower())
        if target is not None and len(operands) == 1:
            operand = self.bind(operands[0])
            is_variant = operand.type == VARIANT
            if is_variant:
                return binders.variant_as(operand, target, tries=False)
            return folded(_written_cast(operand, target))
        instead = _INSTEAD.get(str(name).lower(), "")
        error = refused(f"the function {str(name).upper()}{instead}", node.meta.get("start"))
        error.args = (f"{error}{binders.near_functions(str(name))}",)
        raise error

    def _argument(self, node: "exp.Expr") -> Any:
        """An argument of a function: a value, a function or an interval."""
        length = interval_of(node)
        return self._value_or_lambda(node) if length is None else length

    def _value_or_lambda(self, node: "exp.Expr") -> Any:
        return self._lambda(node) if node.key == "lambda" else self.bind(node)

    def _lambda(self, node: "exp.Expr") -> "binders.Lambda":
        names = tuple(each.name.lower() for each in node.expressions)
        if not is_plain(node) or len(set(names)) < len(names):
            raise refused("a function with such parameters")

        def bind(values: Sequence[Node]) -> Node:
            self.variables.append(dict(zip(names, values, strict=True)))
            try:
                return self.bind(node.this)
            finally:
                self.variables.pop()

        return binders.Lambda(names, f"lambda_{len(self.variables)}", bind)

    def _variable(self, node: "exp.Expr") -> Node:
        for variables in reversed(self.variables):
            if node.name.lower() in variables:
                return variables[node.name.lower()]
        raise refused(f"the name {node.name} in this place")

    def _add(self, node: "exp.Expr", sign: str) -> Node:
        found = self._moved(node.this, node.expression, sign)
        if found is None and sign == "+":
            found = self._moved(node.expression, node.this, sign)
        if found is not None:
            return found
        return self._operated(node, sign)

    def _moved(self, time: "exp.Expr", by: "exp.Expr", sign: str) -> Node | None:
        """A date or a timestamp moved by an interval that is written beside it; None for anything else."""
        length, made = interval_of(by), self._made_interval(by)
        if length is None and made is None:
            return None
        operand = self.bind(time)
        if isinstance(operand.type, IntervalType):
            return None
        if made is not None:
            return made.moved(operand, sign)
        assert length is not None
        return moved(operand, length if sign == "+" else -length)

    def _operated(self, node: "exp.Expr", sign: str) -> Node:
        left, right = self._both(node)
        if is_numeric(left.type) and is_numeric(right.type):
            return arithmetic(left, right, sign)
        return binders.arithmetic_of_times(left, right, sign)

    def _made_interval(self, node: "exp.Expr") -> "binders.MadeInterval | None":
        """The interval that a call makes; None for other nodes."""
        if node.key != "anonymous" or str(node.this).lower() not in binders.MAKING_INTERVALS:
            return None
        return binders.made_interval(str(node.this), tuple(map(self.bind, node.expressions)))

    def _negative(self, node: "exp.Expr") -> Node:
        inner = node.this
        if is_suffix(inner):
            wanted = data_type_of(inner.args["to"])
            if not is_numeric(wanted) or not is_plain(inner):
                raise refused("minus before a cast of a literal")
            if wanted in (FLOAT, DOUBLE) and float(inner.this.this) == 0:
                return Constant(-0.0, wanted)
            # The sign belongs to the number before the suffix.
            return unfolded(cast(negative(suffixed_number(self._literal(inner.this))), wanted))
        if inner.key == "literal" and not inner.is_string:
            return number_of("-" + inner.this)
        return negative(self.bind(inner))

    def _literal(self, node: "exp.Expr") -> Node:
        return Constant(node.this, STRING) if node.is_string else number_of(node.this)

    def _adjacent(self, node: "exp.Expr") -> Node:
        """Adjacent string literals are one text."""
        parts = [self.bind(each) for each in node.expressions]
        texts = [part.value for part in parts if isinstance(part, Constant) and isinstance(part.value, str)]
        if len(texts) != len(parts):
            raise refused("CONCAT")
        return Constant("".join(texts), STRING)

    def _cast(self, node: "exp.Expr") -> Node:
        operand, wanted = self.bind(node.this), data_type_of(node.args["to"])
        if operand.type == VARIANT:
            return binders.variant_as(operand, wanted, tries=is_try(node))
        if wanted == VARIANT:
            return binders.as_variant(operand)
        found = _written_cast(operand, wanted, binders.try_cast if is_try(node) else cast)
        if is_try(node):
            return folded(found)
        if not is_suffix(node):
            return folded(found)
        if node.key == "cast" and node.this.is_string and not isinstance(found, Constant):
            name = node.args["to"].sql(dialect="spark")
            raise refused(f"the literal {name} {node.this.this!r}, which is not a {name},")
        return unfolded(found)

    def _between(self, node: "exp.Expr") -> Node:
        operand, low, high = (self.bind(node.args[part]) for part in ("this", "low", "high"))
        return all_of((compare(operand, low, ">="), compare(operand, high, "<=")))

    def _in(self, node: "exp.Expr") -> Node:
        return is_in(*padded_list(self.bind(node.this), tuple(map(self.bind, node.expressions))))

    def _is(self, node: "exp.Expr") -> Node:
        wanted = node.expression
        names = names_of(node.this)
        if wanted.key == "null" and names is not None:
            found = self._resolved(names)
            if found is not None:
                # Whether a column is NULL can be computed for every type.
                path, fields = found
                return is_null(ColumnRef(path, fields[-1].type))
        operand = self.bind(node.this)
        if wanted.key == "null":
            return is_null(operand)
        if wanted.key == "boolean" and operand.type in (BOOLEAN, VOID):
            word = "TRUE" if wanted.this else "FALSE"
            return call(f"is {word.lower()}", (cast(operand, BOOLEAN),), BOOLEAN, f"({{0}} IS {word})")
        raise refused(f"IS {wanted.key.upper()}")

    def _like(self, node: "exp.Expr") -> Node:
        """``LIKE`` and ``ILIKE`` of one pattern, or of ANY or ALL of several."""
        operand, wanted = self.bind(node.this), node.expression
        patterns = [wanted]
        if wanted.key in ("any", "all"):
            if wanted.this.key not in ("tuple", "paren"):
                raise refused(f"LIKE {wanted.key.upper()} of something other than patterns in parentheses")
            patterns = wanted.this.expressions or [wanted.this.this]
        make = binders.is_ilike if node.key == "ilike" else binders.like
        found = [make(operand, self.bind(each)) for each in patterns]
        if node.args.get("negate"):
            found = [negate(each) for each in found]
        return (any_of if wanted.key == "any" else all_of)(tuple(found)) if len(found) > 1 else found[0]

    def _escaped_like(self, node: "exp.Expr") -> Node:
        """``LIKE pattern ESCAPE sign``."""
        matched, escape = node.this, node.expression
        if matched.key != "like" or not is_plain(matched) or matched.expression.key in ("any", "all"):
            raise refused("ESCAPE behind something other than LIKE of one pattern")
        if escape.key != "literal" or not escape.is_string:
            raise refused("ESCAPE of something other than a text")
        found = binders.like(*self._both(matched), escape.this)
        return negate(found) if matched.args.get("negate") else found

    def _matches(self, node: "exp.Expr") -> Node:
        found = binders.matches(*self._both(node))
        return negate(found) if node.args.get("negate") else found

    def _case(self, node: "exp.Expr") -> Node:
        ifs = node.args["ifs"]
        if not all(is_plain(each) for each in ifs):
            raise refused("CASE")
        conditions = [self.bind(each.this) for each in ifs]
        if node.this is not None:
            operand = self.bind(node.this)
            conditions = [compare(*padded_pair(operand, each), "=") for each in conditions]
        default = node.args.get("default")
        values = tuple(self.bind(each.args["true"]) for each in ifs)
        return binders.case(tuple(conditions), values, self.bind(default) if default is not None else None)

    def _element(self, node: "exp.Expr") -> Node:
        if len(node.expressions) != 1:
            raise refused("an array slice")
        container, place = self.bind(node.this), self.bind(node.expressions[0])
        node.meta[OF_STRUCT] = binders.is_field(container, place)
        return binders.element(container, place)

    def _tuple(self, node: "exp.Expr") -> Node:
        """``(a, b)`` and ``struct(a, b)``."""
        names = [own_name(each) for each in node.expressions]
        return binders.struct(
            names, [self.bind(each.this if each.key == "alias" else each) for each in node.expressions]
        )

    def _trim(self, node: "exp.Expr") -> Node:
        """``TRIM(BOTH characters FROM text)``."""
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")).upper(), "trim")
        text, characters = self.bind(node.this), node.expression
        if not characters:
            function = binders.find_function(name)
            assert function is not None
            return function(name, (text,))
        return binders.trimmed(name)(self.bind(characters), text)

    def _extract(self, node: "exp.Expr") -> Node:
        return binders.extracted(node.this.name, self.bind(node.expression))

    def _variant(self, node: "exp.Expr") -> Node:
        """``v:a.b[0]``."""
        return binders.variant_within(self.bind(node.this), binders.path_text(node.expression))


_RULES: "dict[str, Callable[[_Binder, exp.Expr], Node]]" = {
    "add": lambda binder, node: binder._add(node, "+"),
    "anonymous": _Binder._function,
    "between": _Binder._between,
    "bitwiseand": lambda binder, node: binders.bitwise(*binder._both(node), "&"),
    "bitwiseleftshift": lambda binder, node: binders.SHIFTS["<<"](*binder._both(node)),
    "bitwisenot": lambda binder, node: binders.complement(binder.bind(node.this)),
    "bitwiseor": lambda binder, node: binders.bitwise(*binder._both(node), "|"),
    "bitwiserightshift": lambda binder, node: binders.SHIFTS[">>"](*binder._both(node)),
    "bitwisexor": lambda binder, node: binders.bitwise(*binder._both(node), "^"),
    "boolean": lambda _, node: Constant(bool(node.this), BOOLEAN),
    "bracket": _Binder._element,
    "case": _Binder._case,
    "cast": _Binder._cast,
    "column": _Binder._column,
    "concat": _Binder._adjacent,
    "div": lambda binder, node: binder._operated(node, "/"),
    "dot": _Binder._dot,
    "dpipe": lambda binder, node: binders.concatenate(*binder._both(node)),
    "escape": _Binder._escaped_like,
    "extract": _Binder._extract,
    "hexstring": lambda _, node: Constant(bytes.fromhex("0" * (len(node.this) % 2) + node.this), BINARY),
    "identifier": _Binder._variable,
    "ilike": _Binder._like,
    "in": _Binder._in,
    "intdiv": lambda binder, node: binder._operated(node, "div"),
    "interval": lambda _, node: binders.interval_value(interval_of(node), interval_units_of(node)),
    "is": _Binder._is,
    "jsonextract": _Binder._variant,
    "like": _Binder._like,
    "literal": _Binder._literal,
    "mod": lambda binder, node: binder._operated(node, "%"),
    "mul": lambda binder, node: binder._operated(node, "*"),
    "neg": _Binder._negative,
    "not": lambda binder, node: negate(binder.bind(node.this)),
    "null": lambda _, node: Constant(None, VOID),
    "paren": lambda binder, node: binder.bind(node.this),
    "rawstring": lambda _, node: Constant(node.this, STRING),
    "regexplike": _Binder._matches,
    "trim": _Binder._trim,
    "tuple": _Binder._tuple,
    "sub": lambda binder, node: binder._add(node, "-"),
    "trycast": _Binder._cast,
    **dict.fromkeys(_COMPARISONS, _Binder._compare),
    "and": lambda binder, node: all_of(binder._chain(node)),
    "or": lambda binder, node: any_of(binder._chain(node)),
}
"""The method that binds each kind of sqlglot node, by node key."""
