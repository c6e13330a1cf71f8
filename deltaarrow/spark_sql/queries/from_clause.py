"""The FROM clause: tables, table functions, subqueries, VALUES, joins and LATERAL VIEW."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field
from deltaarrow.spark_sql.binding.tree_reading import written_name
from deltaarrow.spark_sql.functions.function import same_type
from deltaarrow.spark_sql.functions.generator import Generated, find_generator
from deltaarrow.spark_sql.functions.operators import all_of, compare
from deltaarrow.spark_sql.functions.registry import find_function
from deltaarrow.spark_sql.queries.blocks import OutputColumn, Query, Writer
from deltaarrow.spark_sql.queries.context import Around, Context, Source, columns_of, ensure_no_variable
from deltaarrow.spark_sql.queries.expressions import Binding, is_plain_part
from deltaarrow.spark_sql.queries.made_variants import marked
from deltaarrow.spark_sql.queries.name_resolution import Columns, SourceColumn
from deltaarrow.spark_sql.queries.pivoting import pivoted, unpivoted
from deltaarrow.spark_sql.queries.placement import ensure_joining
from deltaarrow.spark_sql.queries.query_parsing import QUERY_KEYS
from deltaarrow.spark_sql.queries.relations import Relation
from deltaarrow.spark_sql.queries.sampling import sampled
from deltaarrow.spark_sql.queries.subqueries import bind_subquery
from deltaarrow.spark_sql.queries.version_clauses import travel_of
from deltaarrow.spark_sql.rendering.rows import is_query
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Constant, Node, refused, walk
from deltaarrow.spark_sql.tree.positioned_errors import placed_at
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.char_comparison import padded_pair
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.type_rules import FLOAT, INTEGRAL, LONG, STRING, VOID, type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["METADATA", "FromClause", "named_columns", "values_query"]

METADATA = "_metadata"
"""The name of the column of a table with the files of its rows."""

_AT_VERSION = re.compile(r"(?P<place>.+)@v(?P<version>\d+)", re.ASCII | re.DOTALL)
_JOINS = {
    ("", ""): "INNER",
    ("", "INNER"): "INNER",
    ("", "CROSS"): "CROSS",
    ("LEFT", ""): "LEFT",
    ("LEFT", "OUTER"): "LEFT",
    ("RIGHT", ""): "RIGHT",
    ("RIGHT", "OUTER"): "RIGHT",
    ("FULL", ""): "FULL",
    ("FULL", "OUTER"): "FULL",
    ("", "SEMI"): "SEMI",
    ("LEFT", "SEMI"): "SEMI",
    ("", "ANTI"): "ANTI",
    ("LEFT", "ANTI"): "ANTI",
}
"""The joins by the side and the kind that sqlglot finds."""


class FromClause:
    """Binds the FROM clause of one SELECT, whose nodes `writer` writes."""

    def __init__(self, context: Context, around: Around, writer: Writer) -> None:
        self._context = context
        self._around = around
        self._writer = writer

    def bind(self, select: "exp.Expr") -> Source:
        """The relations of a SELECT; without FROM, one row without columns."""
        start = select.args.get("from_")
        source = Source("", ()) if start is None else self._relation(start.this, None)
        for each in select.args.get("joins") or []:
            source = self._joined(source, each)
        for each in select.args.get("laterals") or []:
            source = self._lateral_view(source, each)
        return source

    def binding(self, columns: Sequence[SourceColumn], clause: str) -> Binding:
        """Binds the expressions of a clause that sees these columns."""
        return Binding(
            Columns(columns, self._around.outer),
            self._subquery,
            self._context.parameters,
            clause,
        )

    def generated(self, source: Source, generated: Generated, alias: tuple[str, ...]) -> Source:
        """The relations with the rows that a generator makes out of each of theirs."""
        name, key = self._alias(), "e"
        made = self._writer.native(generated.rows)
        if generated.is_outer and not source.sql:
            made = let("CASE WHEN len(made) > 0 THEN made ELSE [NULL] END", made=made)
        rows = f"(SELECT unnest({made}) AS {quote_identifier(key)}) AS {quote_identifier(name)}"
        if not source.sql:
            sql = rows
        elif generated.is_outer:
            sql = f"{source.sql} LEFT JOIN LATERAL {rows} ON TRUE"
        else:
            sql = f"{source.sql} CROSS JOIN LATERAL {rows}"
        columns = tuple(
            SourceColumn(
                each.name,
                ColumnRef((name, key, each.name), each.type),
                marked(each, generated.rows),
                alias,
            )
            for each in generated.schema.fields
        )
        return Source(sql, (*source.columns, *columns))

    # --- relations ---

    def _relation(self, node: "exp.Expr", left: Source | None) -> Source:
        """A relation with its alias; `left` are the relations before it, for LATERAL."""
        if node.args.get("pivots"):
            return self._pivoted(node)
        if node.args.get("sample") is not None:
            return self._sampled(node)
        match node.key:
            case "table":
                source = self._table(node)
            case "values":
                node = _with_alias(node)
                source = self._renamed(self._values(node), node)
            case "lateral":
                return self._lateral(node, left)
            case "subquery" if node.this.key in ("table", "values") and not node.this.args.get("alias"):
                source = self._renamed(self._relation(node.this, None), node)
            case "subquery" if node.this.key in QUERY_KEYS and not node.args.get("joins"):
                around = self._around.inside(self._around.outer)
                around = replace(around, passes_metadata=self._context.names_metadata)
                query = self._context.query(node.this, around)
                source = self._renamed(self._context.nested(self._writer, query, ()), node)
            case "subquery" | "paren":
                inner = self._relation(node.this, None)
                for each in node.args.get("joins") or []:
                    inner = self._joined(inner, each)
                return self._renamed(Source(f"({inner.sql})", inner.columns), node)
            case _:
                raise refused(f"{node.key.upper()} in FROM")
        for each in node.args.get("joins") or []:
            source = self._joined(source, each)
        return source

    def _pivoted(self, node: "exp.Expr") -> Source:
        """A relation with PIVOT or UNPIVOT behind it."""
        plain = node.copy()
        pivots = plain.args.pop("pivots")
        joins = plain.args.pop("joins", None) or []
        source = self._relation(plain, None)
        for each in pivots:
            binding = self.binding(source.columns, "PIVOT")
            with placed_at(node):
                if each.args.get("unpivot"):
                    source = unpivoted(source, each, binding, self.generated)
                else:
                    source = pivoted(self._context, self._writer, source, each, binding)
            source = self._renamed(source, each)
        for each in joins:
            source = self._joined(source, each)
        return source

    def _sampled(self, node: "exp.Expr") -> Source:
        """A relation with TABLESAMPLE behind it."""
        plain = node.copy()
        sample, joins = plain.args.pop("sample"), plain.args.pop("joins", None) or []
        if node.key not in ("table", "subquery") or node.this.key == "anonymous":
            raise refused("TABLESAMPLE of something other than a table or a query")
        with placed_at(node):
            source = sampled(self._context, self._writer, self._relation(plain, None), sample)
        for each in joins:
            source = self._joined(source, each)
        return source

    def _renamed(self, source: Source, node: "exp.Expr") -> Source:
        """The relation under the alias that follows it, with the names of columns in it."""
        alias = node.args.get("alias")
        if alias is None:
            return source
        names = [each.name for each in alias.args.get("columns") or []]
        shown = [each for each in source.columns if not each.is_hidden and not each.is_metadata]
        if names and len(names) != len(shown):
            is_values = node.key == "values"
            kind = "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH" if is_values else "ASSIGNMENT_ARITY_MISMATCH"
            raise SchemaMismatchError(
                f"[{kind}] the alias {alias.name} names {len(names)} columns of {len(shown)}"
            )
        given = dict(zip(shown, names, strict=True)) if names else {}
        qualifier = (alias.name,) if alias.name else ()
        columns = [
            replace(each, name=given.get(each, each.name), qualifier=qualifier or each.qualifier)
            for each in source.columns
            if not each.is_hidden
        ]
        return Source(source.sql, tuple(columns))

    def _table(self, node: "exp.Expr") -> Source:
        if not is_plain_part(node, {"this", "db", "catalog", "alias", "version", "joins"}):
            raise refused("a table with hints or options in FROM")
        if node.this.key == "anonymous":
            return self._renamed(self._function(node), node)
        parts = [node.args.get(each) for each in ("catalog", "db", "this")]
        if any(part is not None and part.key != "identifier" for part in parts):
            raise refused("a table name that is computed")
        names = tuple(part.name for part in parts if part is not None)
        version = node.args.get("version")
        if len(names) == 1 and names[0].lower() in self._around.ctes and version is None:
            cte = self._around.ctes[names[0].lower()]
            name = self._alias()
            sql = f"{quote_identifier(cte.alias)} AS {quote_identifier(name)}"
            return self._renamed(Source(sql, columns_of(name, cte.columns, names)), node)
        travel = None
        if version is not None:
            travel = travel_of(version, self.binding((), "the version of a table"), self._context.now_ms)
        with placed_at(node):
            relation = self._context.relations.table(names, travel)
        return self._renamed(self._placed(relation, names), node)

    def _placed(self, relation: Relation, qualifier: tuple[str, ...]) -> Source:
        """A relation under a fresh alias."""
        name = self._alias()
        for each in relation.schema.fields:
            ensure_no_variable(each.name)
        columns = [
            SourceColumn(each.name, ColumnRef((name, each.name), each.type), each, qualifier)
            for each in relation.schema.fields
        ]
        if relation.metadata is not None:
            field = Field(METADATA, relation.metadata)
            reference = ColumnRef((name, METADATA), relation.metadata)
            columns.append(SourceColumn(METADATA, reference, field, qualifier, is_metadata=True))
        return Source(f"{relation.sql} AS {quote_identifier(name)}", tuple(columns))

    def _function(self, node: "exp.Expr", before: Sequence[SourceColumn] = ()) -> Source:
        """A table function; behind LATERAL its arguments read the relations `before` it."""
        function = node.this
        name = str(function.this)
        binding = self.binding(before, f"the arguments of {name}")
        operands = binding.bind_list(function.expressions)
        if name.lower() == "range":
            return self._range(operands)
        generator = find_generator(name)
        if generator is not None:
            return self.generated(Source("", ()), generator(name, tuple(operands)), (name,))
        if not all(isinstance(each, Constant) for each in operands):
            raise refused(f"{name} in FROM with an argument that is not a literal")
        values = tuple(each.value for each in operands if isinstance(each, Constant))
        relation = self._context.relations.function(name, values)
        if relation is None:
            raise refused(f"the table function {name}", function.meta.get("start"))
        return self._placed(relation, (name,))

    def _range(self, operands: Sequence[Node]) -> Source:
        """``range([start,] end[, step[, partitions]])``: longs under the name ``id``."""
        if not 1 <= len(operands) <= 4:
            raise refused(f"range with {len(operands)} arguments")
        start, end = (Constant(0, LONG), operands[0]) if len(operands) == 1 else operands[:2]
        step = operands[2] if len(operands) > 2 else Constant(1, LONG)
        if not isinstance(step, Constant) or not step.value:
            raise refused("range with a step that is no literal, or 0")
        if any(each.type not in INTEGRAL for each in operands):
            raise refused("range of something other than integers")
        if any(isinstance(part, ColumnRef) for each in operands for part in walk(each)):
            raise refused("range of a column")
        numbers = ", ".join(self._writer.native(cast(each, LONG)) for each in (start, end, step))
        name = self._alias()
        sql = f'range({numbers}) AS {quote_identifier(name)}("id")'
        field = Field("id", LONG)
        return Source(sql, (SourceColumn("id", ColumnRef((name, "id"), LONG), field, ("range",)),))

    def _values(self, node: "exp.Expr") -> Source:
        """``VALUES``: each column has the least common type of its values."""
        query = values_query(self._context, node, self._around)
        return self._context.nested(self._writer, query, ())

    # --- joins ---

    def _joined(self, left: Source, join: "exp.Expr") -> Source:
        if not is_plain_part(join, {"this", "side", "kind", "method", "on", "using"}):
            raise refused("a join with hints or of another kind")
        method = str(join.args.get("method") or "").upper()
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        word = _JOINS.get((side, kind))
        if word is None or method not in ("", "NATURAL"):
            raise refused(f"{' '.join(each for each in (method, side, kind) if each)} JOIN")
        right = self._relation(join.this, left)
        condition, columns = self._condition(left, right, join, word, is_natural=method == "NATURAL")
        lateral = "LATERAL " if join.this.key == "lateral" else ""
        if lateral and word not in ("INNER", "CROSS", "LEFT"):
            raise refused(f"{word} JOIN LATERAL")
        is_function = bool(lateral) and join.this.this.key == "anonymous"
        if is_function and word == "LEFT" and _has_no_condition(join):
            # Without ON, Spark leaves out the rows for which the function makes none.
            raise refused("LEFT JOIN LATERAL of a table function without ON TRUE")
        if not left.sql:
            return Source(right.sql, columns)
        if condition is None and word in ("INNER", "CROSS"):
            return Source(f"{left.sql} CROSS JOIN {lateral}{right.sql}", columns)
        on = "TRUE" if condition is None else self._writer.condition(condition)
        if word == "FULL" and condition is not None and any(map(is_query, walk(condition))):
            raise refused("a subquery in the condition of a FULL JOIN")
        word = "INNER" if word == "CROSS" else word
        return Source(f"{left.sql} {word} JOIN {lateral}{right.sql} ON {on}", columns)

    def _condition(
        self, left: Source, right: Source, join: "exp.Expr", word: str, *, is_natural: bool
    ) -> tuple[Node | None, tuple[SourceColumn, ...]]:
        """The condition of a join and the columns that it shows."""
        merged = [written_name(each) for each in join.args.get("using") or []]
        if is_natural:
            theirs = {each.name.lower() for each in _shown(right)}
            merged = [each.name for each in _shown(left) if each.name.lower() in theirs]
        both = (*left.columns, *right.columns)
        if not merged:
            on = join.args.get("on")
            if _has_no_condition(join):
                return None, left.columns if word in ("SEMI", "ANTI") else both
            assert on is not None
            node = self.binding(both, "the condition of a join").bind(on)
            ensure_joining(node)
            return node, left.columns if word in ("SEMI", "ANTI") else both
        pairs = [(_column(left, each), _column(right, each)) for each in merged]
        found = all_of(tuple(compare(*padded_pair(one.node, two.node), "=") for one, two in pairs))
        if word in ("SEMI", "ANTI"):
            return found, left.columns
        keys = [_merged(one, two, word) for one, two in pairs]
        of_pairs = [each for pair in pairs for each in pair]
        rest = [each for each in both if each not in of_pairs]
        shown = [each for each in keys if each in of_pairs]
        hidden = [each.hidden() for each in of_pairs if each not in shown]
        return found, (*keys, *rest, *hidden)

    def _lateral(self, node: "exp.Expr", left: Source | None) -> Source:
        """``LATERAL (SELECT ...)`` and ``LATERAL explode(...)``, which see the relations to their left."""
        before = left.columns if left is not None else ()
        if node.this.key == "anonymous":
            return self._renamed(self._function(node, before), node)
        outer = Columns(before, self._around.outer)
        query = self._context.query(node.this, self._around.inside(outer))
        return self._renamed(self._context.nested(self._writer, query, ()), node)

    def _lateral_view(self, source: Source, node: "exp.Expr") -> Source:
        """``LATERAL VIEW [OUTER] generator(...) [alias] [AS column, ...]``."""
        function = node.this
        name = str(function.this)
        generator = find_generator(name) if function.key == "anonymous" else None
        if generator is None or generator.is_relation or not node.args.get("view"):
            raise refused(f"LATERAL VIEW of {name.upper()}", function.meta.get("start"))
        operands = self.binding(source.columns, "LATERAL VIEW").bind_list(function.expressions)
        generated = generator(name, tuple(operands))
        alias = node.args.get("alias")
        names = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
        qualifier = (alias.name,) if alias is not None and alias.name else ()
        found = self.generated(
            source, replace(generated, is_outer=generated.is_outer or bool(node.args.get("outer"))), qualifier
        )
        return Source(
            found.sql, (*source.columns, *named_columns(found.columns[len(source.columns) :], names))
        )

    # --- shared ---

    def _subquery(self, node: "exp.Expr", columns: Columns, bind: object) -> Node:
        return bind_subquery(self._context, node, columns, self._around, bind)  # type: ignore[arg-type]

    def _alias(self) -> str:
        name = self._context.alias()
        self._writer.own.add(name)
        return name

    def _quoted(self) -> str:
        return quote_identifier(self._alias())


def _has_no_condition(join: "exp.Expr") -> bool:
    """Whether nothing was written after ON; sqlglot then adds TRUE for some joins."""
    on = join.args.get("on")
    return on is None or (on.key == "boolean" and bool(on.this))


def named_columns(columns: Sequence[SourceColumn], names: Sequence[str]) -> tuple[SourceColumn, ...]:
    """The columns of a generator under the names that a query gives them."""
    if not names:
        return tuple(columns)
    if len(names) != len(columns):
        raise SchemaMismatchError(
            f"[UDTF_ALIAS_NUMBER_MISMATCH] a generator makes {len(columns)} columns, and there are"
            f" {len(names)} names: {', '.join(names)}"
        )
    return tuple(replace(each, name=name) for each, name in zip(columns, names, strict=True))


def values_query(context: Context, node: "exp.Expr", around: Around) -> Query:
    """``VALUES``: each column has the least common type of its values, and is called ``col1`` and so on."""
    writer = context.writer()
    clause = FromClause(context, around, writer)
    binding = clause.binding((), "VALUES")
    rows = [_row_of_values(each) for each in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise SchemaMismatchError(
            "[INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH] the rows of VALUES have different numbers of values"
        )
    nodes = [[binding.bind_output(value) for value in row] for row in rows]
    columns_of_values = [tuple(row[place] for row in nodes) for place in range(len(rows[0]))]
    for place, values in enumerate(columns_of_values, 1):
        _ensure_inline(values, place)
    found = [same_type(values) for values in columns_of_values]
    columns = [
        OutputColumn(f"col{place}", f"col{place}", marked(Field(f"col{place}", data_type), values[0]))
        for place, (values, data_type) in enumerate(found, 1)
    ]
    listed = ", ".join(
        f"({', '.join(writer.native(cast(values[row], data_type)) for values, data_type in found)})"
        for row in range(len(rows))
    )
    keys = ", ".join(quote_identifier(each.key) for each in columns)
    alias = quote_identifier(context.alias())
    return writer.query(f"SELECT {keys} FROM (VALUES {listed}) AS {alias}({keys})", columns)


def _with_alias(node: "exp.Expr") -> "exp.Expr":
    """``VALUES 1, 2 AS v(a)``; sqlglot takes the alias for one of the last value."""
    last = node.expressions[-1].expressions[-1:] if node.expressions[-1].key == "tuple" else []
    if not last or last[0].key != "alias" or len(node.expressions[-1].expressions) > 1:
        return node
    from sqlglot import exp

    plain = node.copy()
    name = plain.expressions[-1].expressions[0]
    alias = plain.args.get("alias") or exp.TableAlias()
    alias.set("this", name.args["alias"])
    plain.expressions[-1].set("expressions", [name.this])
    plain.set("alias", alias)
    return plain


def _row_of_values(node: "exp.Expr") -> "Sequence[exp.Expr]":
    """The values of one row: of a tuple or of ``struct(...)``, or the one value that is no such."""
    if node.key in ("paren", "tuple") and len(values := node.expressions or [node.this]) == 1:
        (node,) = values
    if node.key == "anonymous" and str(node.this).lower() == "struct":
        return [each.this if each.key == "alias" else each for each in node.expressions]
    return node.expressions if node.key == "tuple" else [node]


def _ensure_inline(values: Sequence[Node], place: int) -> None:
    """Refuse a column of VALUES with a subquery, or with texts beside other values, which Spark casts not."""
    if any(is_query(part) for each in values for part in walk(each)):
        raise SchemaMismatchError(
            "[UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.SCALAR_SUBQUERY_IN_VALUES] a subquery stands in"
            " VALUES: write SELECT"
        )
    for leaves in zip(*(leaf_types(each.type) for each in values if each.type != VOID), strict=False):
        if FLOAT in leaves and any(each in INTEGRAL for each in leaves):
            raise refused("VALUES of floats beside integers without a cast")
        if len({each == STRING for each in leaves if each != VOID}) < 2:
            continue
        types = ", ".join(dict.fromkeys(type_name(each.type) for each in values))
        raise SchemaMismatchError(
            "[INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE] the values of the column"
            f" `col{place}` of VALUES have the types {types}: cast them to one"
        )


def _shown(source: Source) -> list[SourceColumn]:
    return Columns(source.columns).shown


def _column(source: Source, name: str) -> SourceColumn:
    """The one column that USING names."""
    found = [each for each in _shown(source) if each.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SchemaMismatchError(
            f"[UNRESOLVED_USING_COLUMN_FOR_JOIN] no column `{name}` on one side of the join"
            f" (columns: {', '.join(each.name for each in _shown(source))})"
        )
    raise SchemaMismatchError(f"[AMBIGUOUS_REFERENCE] several columns `{name}` on one side of the join")


def _merged(left: SourceColumn, right: SourceColumn, word: str) -> SourceColumn:
    """The column that a join shows for two that it takes as one."""
    if word == "RIGHT":
        return right
    if word != "FULL":
        return left
    coalesce = find_function("coalesce")
    assert coalesce is not None
    node = coalesce("coalesce", (left.node, right.node))
    return SourceColumn(left.name, node, Field(left.name, node.type))
