"""The compiler of Spark's queries: from text to one SELECT of DuckDB."""

from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.queries.blocks import Query, Writer
from deltaarrow.spark_sql.queries.context import Around, Context, Cte, renamed
from deltaarrow.spark_sql.queries.expressions import parameter_values
from deltaarrow.spark_sql.queries.from_clause import METADATA, values_query
from deltaarrow.spark_sql.queries.identifiers import with_names
from deltaarrow.spark_sql.queries.made_variants import unmarked
from deltaarrow.spark_sql.queries.ordering import compile_ordered
from deltaarrow.spark_sql.queries.query_parsing import parse_query
from deltaarrow.spark_sql.queries.recursion import is_recursive, recursive
from deltaarrow.spark_sql.queries.relations import CompiledQuery, Parameters, QuerySettings, Relations
from deltaarrow.spark_sql.queries.select import compile_select
from deltaarrow.spark_sql.queries.set_operations import compile_set_operation
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.tree.positioned_errors import placed_in

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["compile_query"]

_SUBQUERY_PARTS = frozenset({"this", "with_", "order", "limit", "offset", "alias", "sort", "distribute"})


def compile_query(
    text: str,
    relations: Relations,
    parameters: Parameters | None = None,
    settings: QuerySettings | None = None,
) -> CompiledQuery:
    """Compile a query in Spark's dialect to one in DuckDB's that means the same.

    Args:
        text: one query: SELECT, VALUES, TABLE, a set operation, with WITH or without.
        relations: gives the relations that the text names.
        parameters: the values of ``?`` or of ``:name``. They are bound as literals.
        settings: of the session.

    Raises, with their `DeltaError.place` in the text:
        UnsupportedFeatureError: the text uses what is not supported, or what would not certainly mean the
            same; the error names it.
        SchemaMismatchError: a name is unknown or ambiguous, or columns do not fit; it begins with Spark's
            error class.

    >>> from deltaarrow.schema import Field
    >>> from deltaarrow.spark_sql.queries import Relation
    >>> class Orders:
    ...     def table(self, names, travel):
    ...         return Relation("orders", StructType([Field("id", "long"), Field("year", "integer")]))
    >>> print(compile_query("SELECT id FROM orders WHERE year = 2026", Orders()).sql)
    SELECT "t1"."id" AS "id" FROM orders AS "t1" WHERE ("t1"."year" = 2026)
    """
    settings = settings or QuerySettings()
    try:
        with placed_in(text):
            tree = parse_query(text)
            context = Context(relations, parameter_values(tree, parameters), settings.clock(), _compiled)
            context.names_metadata = METADATA in text.lower()
            query = _compiled(context, with_names(tree, context.parameters), Around(is_top=True))
    except RecursionError as error:
        raise refused("deep nesting") from error
    assert not query.outer
    columns = [replace(each.field, name=each.name) for each in query.columns]
    schema = StructType(map(unmarked, columns))
    return CompiledQuery(query.sql.format(), schema, StructType(columns), frozenset(context.placed))


def _compiled(context: Context, tree: "exp.Expr", around: Around) -> Query:
    """Compile a query of any kind; see `Context.query`."""
    definitions = tree.args.get("with_")
    if definitions is None:
        return _body(context, tree, around)
    around = replace(around, passes_metadata=False)
    writer, word = context.writer(), "WITH"
    listed, defined = [], set[str]()
    for each in definitions.expressions:
        name = each.args["alias"].name
        if name.lower() in defined:
            raise SchemaMismatchError(f"[DUPLICATED_CTE_NAMES] WITH defines `{name}` more than once")
        defined.add(name.lower())
        if definitions.args.get("recursive") and is_recursive(each):
            word = "WITH RECURSIVE"
            sql, cte = recursive(context, writer, each, around)
        else:
            sql, cte = _defined(context, writer, each, around)
        listed.append(sql)
        around = replace(around, ctes={**around.ctes, name.lower(): cte})
    body = _body(context, tree, around)
    return writer.query(f"{word} {', '.join(listed)} {writer.inlined(body)}", body.columns)


def _defined(context: Context, writer: Writer, definition: "exp.Expr", around: Around) -> tuple[str, Cte]:
    """The SQL that defines a name of WITH, and what the queries after it see."""
    name = definition.args["alias"]
    names = [each.name for each in name.args.get("columns") or []]
    query = renamed(_compiled(context, definition.this, replace(around, is_top=False)), names, name.name)
    alias = f"c{context.alias()}"
    return f"{quote_identifier(alias)} AS ({writer.inlined(query)})", Cte(alias, query.columns)


def _body(context: Context, tree: "exp.Expr", around: Around) -> Query:
    if tree.key == "select":
        return compile_select(context, tree, around)
    around = replace(around, passes_metadata=False)
    if tree.key in ("union", "intersect", "except"):
        return compile_set_operation(context, tree, around)
    if tree.key == "values":
        alias = tree.args.get("alias")
        names = [each.name for each in alias.args.get("columns") or []] if alias is not None else []
        values = renamed(values_query(context, tree, around), names, "the alias of VALUES")
        return compile_ordered(context, tree, values, around)
    if tree.key == "subquery":
        unknown = {name for name, part in tree.args.items() if part} - _SUBQUERY_PARTS
        if unknown:
            raise refused(f"a query in parentheses with {min(unknown).strip('_').upper()}")
        has_clauses = any(tree.args.get(each) is not None for each in ("order", "limit", "offset"))
        inner = context.query(tree.this, around if not has_clauses else replace(around, is_top=False))
        return compile_ordered(context, tree, inner, around)
    raise refused(f"{tree.key.upper()} where a query belongs")
