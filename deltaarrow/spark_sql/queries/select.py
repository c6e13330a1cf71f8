"""One SELECT: its select list, its clauses and the SQL that has their meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field
from deltaarrow.spark_sql.binding.tree_reading import names_of
from deltaarrow.spark_sql.functions.aggregate import Order, is_window
from deltaarrow.spark_sql.functions.generator import find_generator
from deltaarrow.spark_sql.functions.operators import all_of
from deltaarrow.spark_sql.functions.random import ensure_one_row_order
from deltaarrow.spark_sql.queries.blocks import OutputColumn, Query, Writer, as_is, normalized, substituted
from deltaarrow.spark_sql.queries.column_names import ColumnNames
from deltaarrow.spark_sql.queries.context import Around, Context, Source, shown_keys, unique_keys
from deltaarrow.spark_sql.queries.expressions import AMBIGUOUS, WINDOW_KEY, Binding, is_plain_part
from deltaarrow.spark_sql.queries.from_clause import METADATA, FromClause, named_columns
from deltaarrow.spark_sql.queries.grouping import (
    GroupKeys,
    aggregates_in,
    ensure_groupable,
    group_keys,
    grouped,
    projected,
)
from deltaarrow.spark_sql.queries.made_variants import marked
from deltaarrow.spark_sql.queries.name_resolution import Columns
from deltaarrow.spark_sql.queries.ordering import bound_order, compile_ordered, limits, ordered_sql
from deltaarrow.spark_sql.queries.placement import ensure_of_groups
from deltaarrow.spark_sql.queries.stars import star_of, starred
from deltaarrow.spark_sql.queries.time_windows import with_time_windows
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Constant, Node, refused, walk
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, VOID, type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["compile_select"]

_CLAUSES = frozenset(
    (
        *("expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "windows"),
        *("distinct", "order", "sort", "distribute", "cluster", "limit", "offset", "with_", "hint"),
    )
)


@dataclass(frozen=True)
class _Item:
    """A column of the select list: its name and its value, or the tree that has yet to be bound.

    `qualifier` is that of the column of a relation that it just is.
    """

    name: str
    node: Node | None = None
    tree: "exp.Expr | None" = None
    field: Field | None = None
    qualifier: tuple[str, ...] = ()
    is_metadata: bool = False


def compile_select(context: Context, tree: "exp.Expr", around: Around) -> Query:
    """Compile a SELECT with its ORDER BY and LIMIT."""
    unknown = {name for name, part in tree.args.items() if part} - _CLAUSES
    if unknown:
        raise refused(f"{min(unknown).strip('_').upper()} in a SELECT")
    return _Select(context, tree, around).compiled()


_NOTHING = Constant(None, VOID)


class _Select:
    def __init__(self, context: Context, tree: "exp.Expr", around: Around) -> None:
        self.context = context
        self.tree = tree
        self.around = around
        self.writer: Writer = context.writer()
        self.clause = FromClause(context, around, self.writer)
        self.source: Source = self.clause.bind(tree)
        arguments = self.clause.binding(self.source.columns, "the arguments of a window of time")
        self.tree, self.time_window = with_time_windows(tree, arguments.bind, context.now_ms)
        if self.time_window is not None:
            self.source = self.time_window.added(self.source, self.clause)
        self.windows = {each.name.lower(): each for each in tree.args.get("windows") or []}
        self.has_generator = False
        self.distinct = tree.args.get("distinct") is not None
        if self.distinct and tree.args["distinct"].args.get("on") is not None:
            raise refused("DISTINCT ON")

    def compiled(self) -> Query:
        items = self._listed()
        where = self._where()
        keys = self._keys(items)
        bound = self._bound(items, keys)
        names = {each.name.lower(): each.node for each in bound if each.node is not None}
        having = self._having(names, keys)
        qualify = self._qualify(names)
        order = [] if self.distinct else self._order(bound, keys)
        used = [each.node for each in bound if each.node is not None]
        used += [each for each in (having, qualify) if each is not None]
        used += [each.node for each in order]
        is_grouped = keys is not None or having is not None or bool(aggregates_in(used))
        ensure_one_row_order(map(_node, bound), self._disorder(is_grouped))
        rows = self.source.sql
        if self.time_window is not None and keys is not None and self.time_window.is_session_of(keys):
            below = f" FROM {rows}" + (f" WHERE {self.writer.condition(where)}" if where is not None else "")
            self.source, moved = self.time_window.sessions(self.context, self.writer, below, keys, used)
            where, keys = None, replace(keys, nodes=tuple(map(moved, keys.nodes)))
            bound = [replace(each, node=moved(_node(each))) for each in bound]
            order = [replace(each, node=moved(each.node)) for each in order]
            having, qualify = (None if each is None else moved(each) for each in (having, qualify))
            used = [moved(each) for each in used]
        if is_grouped:
            if self.has_generator:
                raise refused("a generator beside an aggregate")
            ensure_of_groups(map(_node, bound), self.writer.own)
            rows, rewritten = grouped(
                self.context, self.writer, self.source, where, keys or GroupKeys((), None), used
            )
            bound = [replace(each, node=rewritten(_node(each))) for each in bound]
            qualify = rewritten(qualify) if qualify is not None else None
            order = [replace(each, node=rewritten(each.node)) for each in order]
            where = rewritten(having) if having is not None else None
        elif self.around.passes_metadata and not self.distinct:
            bound += self._passed(bound)
        bound, qualify, order, rows, where = self._with_window_keys(bound, qualify, order, rows, where)
        query = self._finished(rows, where, bound, qualify, order)
        return compile_ordered(self.context, self.tree, query, self.around) if self.distinct else query

    def _disorder(self, is_grouped: bool) -> str | None:
        """What the rows of the SELECT have no order for; None if they have the order of one relation."""
        if is_grouped:
            return "a group"
        tree: exp.Expr | None = self.tree
        while tree is not None:
            if tree.args.get("joins"):
                return "a join"
            # Brackets around a table and its joins; a query within them has rows of its own.
            below = tree.args.get("from_") or (tree.this if tree.key in ("from", "subquery") else None)
            tree = None if below is None or below.key == "select" else below
        return "a generator" if self.has_generator or self.tree.args.get("laterals") else None

    def _passed(self, bound: Sequence[_Item]) -> list[_Item]:
        """The ``_metadata`` of the relation in FROM, for the query around this one."""
        found = [each for each in self.source.columns if each.is_metadata and each.name == METADATA]
        if len(found) != 1 or any(each.name.lower() == METADATA for each in bound):
            return []
        return [_Item(METADATA, found[0].node, field=found[0].field, is_metadata=True)]

    # --- the select list ---

    def _listed(self) -> list[_Item]:
        """The select list with its stars expanded, and with the rows of a generator in FROM."""
        items: list[_Item] = []
        for each in self.tree.expressions:
            alias, names = _alias(each)
            inner = each.this if alias is not None or names else each
            if star_of(inner) is not None:
                items += self._expanded(inner)
                continue
            generator = find_generator(str(inner.this)) if inner.key == "anonymous" else None
            if generator is not None and not generator.is_relation:
                if self.has_generator:
                    raise refused("several generators in one select list")
                self.has_generator = True
                operands = self._binding("the argument of a generator").bind_list(inner.expressions)
                before = len(self.source.columns)
                generated = generator(str(inner.this), tuple(operands))
                self.source = self.clause.generated(self.source, generated, ())
                made = named_columns(self.source.columns[before:], names or ([alias] if alias else []))
                items += [_Item(column.name, column.node, field=column.field) for column in made]
                hidden = [column.hidden() for column in self.source.columns[before:]]
                self.source = replace(self.source, columns=(*self.source.columns[:before], *hidden))
                continue
            if names:
                raise refused("several names for one column")
            items.append(_Item(alias or "", tree=inner))
        return items

    def _expanded(self, node: "exp.Expr") -> list[_Item]:
        """The columns of ``*``, ``t.*`` and ``struct.*``, without those in EXCEPT."""
        columns = Columns(self.source.columns, self.around.outer)
        found = [each for each, _ in starred(columns, node)]
        if not found and not self.source.sql:
            raise refused("* without FROM")
        return [_Item(each.name, each.node, field=each.field, qualifier=each.qualifier) for each in found]

    def _bound(self, items: Sequence[_Item], keys: GroupKeys | None) -> list[_Item]:
        """The select list bound from the left: an item may use the names of those before it."""
        bound: list[_Item] = []
        aliases: dict[str, Node] = {}
        for each in items:
            found = self._bound_item(each, aliases, keys)
            bound.append(found)
            if each.name and found.node is not None and each.node is None:
                # Two columns of one name: neither can be used.
                known = each.name.lower() in aliases
                aliases[each.name.lower()] = AMBIGUOUS if known else found.node
        return bound

    def _bound_item(self, item: _Item, aliases: Mapping[str, Node], keys: GroupKeys | None) -> _Item:
        if item.tree is None:
            return item
        binding = self._binding(
            "the select list",
            aliases=aliases,
            takes_aggregates=True,
            takes_windows=True,
            keys=keys.nodes if keys is not None and keys.sets is not None else None,
        )
        node = binding.bind_output(item.tree)
        field = binding.field_of(item.tree)
        name = item.name or ColumnNames(binding.shown, self.windows).of(item.tree, node)
        return _Item(name, node, field=field, qualifier=() if item.name else self._qualifier(node))

    def _qualifier(self, node: Node) -> tuple[str, ...]:
        return next((each.qualifier for each in self.source.columns if each.node == node), ())

    # --- clauses ---

    def _binding(self, clause: str, **more: object) -> Binding:
        return replace(
            self.clause.binding(self.source.columns, clause),
            windows=self.windows,
            **more,  # type: ignore[arg-type]
        )

    def _where(self) -> Node | None:
        where = self.tree.args.get("where")
        found = None if where is None else _condition(self._binding("WHERE").bind(where.this), "WHERE")
        if self.time_window is None:
            return found
        given = self.time_window.is_given
        return given if found is None else all_of((found, given))

    def _keys(self, items: Sequence[_Item]) -> GroupKeys | None:
        group = self.tree.args.get("group")
        if group is None:
            return None
        if group.args.get("all"):
            if not is_plain_part(group, {"all"}):
                raise refused("GROUP BY ALL with more")
            bound = self._bound(items, None)
            nodes = [_node(each) for each in bound if not aggregates_in([_node(each)])]
            for each in nodes:
                ensure_groupable(each.type, "GROUP BY ALL")
            found = tuple(dict.fromkeys(each for each in nodes if not isinstance(each, Constant)))
            return GroupKeys(found, None)
        return group_keys(group, lambda tree: self._key(tree, items))

    def _key(self, tree: "exp.Expr", items: Sequence[_Item]) -> Node:
        """A key of GROUP BY: an ordinal, an expression over the relations, or a name of the select list."""
        if tree.key == "literal" and not tree.is_string and tree.this.isdecimal():
            place = int(tree.this)
            if not 1 <= place <= len(items):
                raise SchemaMismatchError(
                    f"[GROUP_BY_POS_OUT_OF_RANGE] GROUP BY {place}: the select list has {len(items)} columns"
                )
            return self._item_key(items, place - 1)
        names = names_of(tree)
        if names is not None and len(names) == 1 and Columns(self.source.columns).find(names) is None:
            for place, each in enumerate(items):
                if each.name.lower() == names[0].lower():
                    return self._item_key(items, place)
        return self._binding("GROUP BY").bind_output(tree)

    def _item_key(self, items: Sequence[_Item], place: int) -> Node:
        node = _node(self._bound(items[: place + 1], None)[-1])
        if aggregates_in([node]):
            raise refused(f"an aggregate as a key of GROUP BY: column {place + 1} of the select list")
        return node

    def _having(self, names: Mapping[str, Node], keys: GroupKeys | None) -> Node | None:
        having = self.tree.args.get("having")
        if having is None:
            return None
        sets = keys.nodes if keys is not None and keys.sets is not None else None
        before = keys.nodes if keys is not None else ()
        binding = self._binding("HAVING", first=names, before_first=before, takes_aggregates=True, keys=sets)
        return _condition(binding.bind(having.this), "HAVING")

    def _qualify(self, names: Mapping[str, Node]) -> Node | None:
        qualify = self.tree.args.get("qualify")
        if qualify is None:
            return None
        binding = self._binding("QUALIFY", aliases=names, takes_aggregates=True, takes_windows=True)
        node = _condition(binding.bind(qualify.this), "QUALIFY")
        if not any(map(is_window, walk(node))):
            raise refused("QUALIFY without a function over a window")
        return node

    def _order(self, bound: Sequence[_Item], keys: GroupKeys | None) -> list[Order]:
        sets = keys.nodes if keys is not None and keys.sets is not None else None
        output = [(each.name, _node(each)) for each in bound]
        binding = self._binding("ORDER BY", takes_aggregates=True, keys=sets)
        return bound_order(self.tree, output, binding)

    # --- SQL ---

    def _with_window_keys(
        self,
        items: list[_Item],
        qualify: Node | None,
        order: list[Order],
        rows: str,
        where: Node | None,
    ) -> tuple[list[_Item], Node | None, list[Order], str, Node | None]:
        """The parts of the SELECT, with the keys of windows computed in a SELECT below."""
        nodes = [*map(_node, items), *(each.node for each in order), *([] if qualify is None else [qualify])]
        calls = (each for node in nodes for each in walk(node) if isinstance(each, Call))
        marked = dict.fromkeys(each for each in calls if each.name == WINDOW_KEY)
        if not marked:
            return items, qualify, order, rows, where
        inner = {each: each.operands[0] for each in marked}
        known: dict[Node, Node] = {
            each: as_is(node) if isinstance(node, ColumnRef) else node
            for each, node in inner.items()
            if isinstance(node, ColumnRef | Constant)
        }
        computed = [each for each in marked if each not in known]
        if computed:
            below = f" FROM {rows}" if rows else ""
            below += f" WHERE {self.writer.condition(where)}" if where is not None else ""
            kept = [substituted(node, dict.fromkeys(computed, _NOTHING)) for node in nodes]
            made, columns, rows = projected(
                self.context, self.writer, [inner[each] for each in computed], kept, below
            )
            known = {each: substituted(node, columns) for each, node in known.items()}
            known |= columns
            known |= {each: as_is(column) for each, column in zip(computed, made, strict=True)}
            rows, where = rows.removeprefix(" FROM "), None
        items = [replace(each, node=substituted(_node(each), known)) for each in items]
        order = [replace(each, node=substituted(each.node, known)) for each in order]
        return items, None if qualify is None else substituted(qualify, known), order, rows, where

    def _finished(
        self,
        rows: str,
        where: Node | None,
        items: Sequence[_Item],
        qualify: Node | None,
        order: Sequence[Order],
    ) -> Query:
        writer, names = self.writer, [each.name for each in items]
        is_shown = self.around.is_top and not self.distinct
        keys = shown_keys(names) if is_shown else unique_keys(names)
        nodes = [_node(each) for each in items]
        if self.distinct:
            for each in nodes:
                ensure_groupable(each.type, "DISTINCT")
            nodes = [normalized(each) for each in nodes]
        listed = ", ".join(
            f"{writer.native(node)} AS {quote_identifier(key)}" for node, key in zip(nodes, keys, strict=True)
        )
        if not listed:
            raise SchemaMismatchError("[PARSE_SYNTAX_ERROR] a SELECT needs columns")
        sql = f"SELECT {'DISTINCT ' if self.distinct else ''}{listed}"
        sql += f" FROM {rows}" if rows else ""
        sql += f" WHERE {writer.condition(where)}" if where is not None else ""
        sql += f" QUALIFY {writer.condition(qualify)}" if qualify is not None else ""
        if not self.distinct:
            sql += ordered_sql(writer, order, [_node(each) for each in items])
            sql += limits(self.tree, self._binding("LIMIT"), self.context.now_ms)
        columns = [
            OutputColumn(each.name, key, _field(each), each.qualifier, each.is_metadata)
            for each, key in zip(items, keys, strict=True)
        ]
        return writer.query(sql, columns)


def _node(item: _Item) -> Node:
    assert item.node is not None
    return item.node


def _field(item: _Item) -> Field:
    node = _node(item)
    metadata = item.field.metadata if item.field is not None else {}
    return marked(Field(item.name, node.type, metadata=metadata), node)


def _condition(node: Node, clause: str) -> Node:
    if node.type != BOOLEAN:
        raise SchemaMismatchError(
            f"[DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN] the condition of {clause} is of type"
            f" {type_name(node.type)}, not boolean"
        )
    return node


def _alias(node: "exp.Expr") -> tuple[str | None, list[str]]:
    """The name that follows a column of the select list, or the several names of a generator's columns."""
    if node.key == "alias":
        return node.alias, []
    if node.key == "aliases":
        return None, [each.name for each in node.expressions]
    return None, []
