"""The tables in a DuckDB statement, and the conditions that apply to each of them.

A condition may skip files of a table if leaving out rows for which it is not TRUE does not change the result.
With ``S`` the SELECT that names the table in FROM:

* A condition in WHERE of ``S`` may. If an outer join adds NULLs for the table, leaving out rows of the table
  makes rows of the other side appear with such NULLs; then it may only if it is not TRUE on NULLs.
* A condition in ON of the join that adds the table may, unless the join keeps the table's unmatched rows
  (RIGHT, FULL).
* A condition in ON of a later join, before the next comma, may if that join drops unmatched rows of its left
  side (INNER, RIGHT, SEMI) and, where NULLs are added for the table, if it is not TRUE on NULLs.

Nothing is concluded if ``S`` has a sample, a pivot, or another kind of join, such as ASOF, in which one row
replaces another.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deltaarrow.catalogs import fold
from deltaarrow.engines.duckdb.deep_tokens import shallow
from deltaarrow.engines.duckdb.time_travel import Call, Travel, folded_tokens
from deltaarrow.engines.duckdb.where_conditions import Conditions, Found, is_telling, may_keep_nulls
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import And, Column, Predicate
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.runtime.gc_pause import importing
from deltaarrow.schema import DataType, Field, StructType
from deltaarrow.spark_sql.text.literal_lists import ListedLiterals, shortened_lists

if TYPE_CHECKING:
    from sqlglot import Dialect, exp

__all__ = [
    "QualifiedName",
    "Reference",
    "Settings",
    "Statement",
    "parse_statement",
    "qualified_names",
]

_QUESTION = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(?:EXPLAIN\b\s*(?:ANALYZE\b\s*)?(?:\((?:[^()']|'[^']*')*\)\s*)?|(?:DESCRIBE|SUMMARIZE)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Keywords before a query that ask for something other than its rows."""
_BEGINNING = re.compile(
    r"(?:[\s(]|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|WITH|FROM|INSERT|CREATE|COPY)\b", re.IGNORECASE | re.DOTALL
)

_READING = ("select", "union", "intersect", "except", "subquery", "insert", "create", "copy")
_PARTS_OF_SELECT = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows", "distinct",
    "order", "limit", "offset", "with_",
}  # fmt: skip
_PARTS_OF_HEAD = {"expressions", "from_", "limit", "offset"}
_PARTS_OF_TABLE = {"this", "db", "catalog", "alias"}
_PARTS_OF_JOIN = {"this", "side", "kind", "on", "using", "method"}
_KEEPS_RIGHT = ("RIGHT", "FULL")
_KEEPS_LEFT = ("LEFT", "FULL")
_SIDES = ("", "LEFT", "RIGHT", "FULL")
_KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


@dataclass(frozen=True)
class Reference:
    """A table that a statement reads: `names` as spelled, in the text at `span`.

    `special` is the version or time that it is read at, or the call that it is.
    """

    names: tuple[str, ...]
    span: tuple[int, int]
    alias: str | None
    node: "exp.Table" = field(repr=False, compare=False)
    special: Travel | Call | None = None

    @property
    def known_as(self) -> str:
        """The case-folded name under which the statement uses its columns."""
        return fold(self.alias if self.alias is not None else self.names[-1])


@dataclass(frozen=True)
class QualifiedName:
    """A position in a statement that may name a table of a case-folded schema; `is_text` inside a string."""

    start: int
    schema: str
    is_text: bool


@dataclass(frozen=True)
class Settings:
    """Connection settings that affect the meaning of conditions."""

    time_zone: str
    has_collation: bool


@dataclass(frozen=True)
class Statement:
    """A parsed statement that reads tables.

    Args:
        tree: sqlglot's parse tree.
        references: the tables that it reads by name, without common table expressions.
        words: the texts of all tokens, case-folded.
        qualifiers: all case-folded names that may qualify a column.
        others: names that it may use for tables elsewhere: where only a name may stand, and in strings.
        unnamed: the placeholders ``?``, in order.
        hides_columns: whether it reads columns without mentioning them, as ``*`` does.
        functions: case-folded names of functions that sqlglot does not know: DuckDB's, or a user's macros.
        is_definition: whether it creates a view or a macro, which keeps the text.
        lists: the literals of long ``IN`` lists, which are no nodes of the tree.
        named: the names and strings of the text that `qualified_names` compares with schemas.
    """

    tree: "exp.Expr" = field(repr=False)
    references: tuple[Reference, ...]
    words: frozenset[str] = field(repr=False)
    qualifiers: frozenset[str]
    others: frozenset[str] = field(repr=False)
    unnamed: tuple[str, ...]
    hides_columns: bool
    functions: frozenset[str]
    is_definition: bool
    lists: ListedLiterals = field(repr=False)
    named: tuple[QualifiedName, ...] = field(repr=False)

    def columns(
        self, reference: Reference, schema: StructType, built_in: Callable[[], frozenset[str]]
    ) -> list[str]:
        """Return the columns of a table that the statement may read: the mentioned ones, or all.

        `built_in` returns the functions of DuckDB itself. A user's macro may read columns that are not among
        its arguments.
        """
        names = [each.name for each in schema.fields]
        is_usual = not _extra(reference.node, {*_PARTS_OF_TABLE, "joins"}) and not _renames(reference.node)
        if self.hides_columns or not is_usual or reference.known_as in self._bare_columns:
            return names
        if self.functions and not self.functions <= built_in():
            return names
        return [name for name in names if fold(name) in self.words]

    def reads(self, reference: Reference, hidden: str) -> bool:
        """Whether the statement reads a hidden struct column of a table: a field, or after the table's name.

        Raises `UnsupportedFeatureError` if a ``*`` stands beside it, which would include the column.
        """
        from sqlglot import exp

        def is_hidden(names: list[str]) -> bool:
            place = names.index(hidden)
            return names[place - 1] == reference.known_as if place else len(names) > 1

        if hidden not in self.words or hidden in self.qualifiers - {reference.known_as}:
            return False
        columns = ([fold(part.name) for part in each.parts] for each in self.tree.find_all(exp.Column))
        if not any(hidden in names and is_hidden(names) for names in columns):
            return False
        if _has_star(self.tree):
            raise UnsupportedFeatureError(
                f"{hidden} beside * is not supported: name the columns", feature=hidden
            )
        return True

    @cached_property
    def _bare_columns(self) -> frozenset[str]:
        """The columns without a qualifier; a column named like a table is a struct of its row."""
        from sqlglot import exp

        return frozenset(fold(c.name) for c in self.tree.find_all(exp.Column) if not c.args.get("table"))

    def schema_prefixes(self, reference: Reference) -> Iterator[tuple[int, int]]:
        """Yield the spans of schema prefixes of columns: the ``s.`` in ``s.t.c``."""
        from sqlglot import exp

        wanted = [fold(name) for name in reference.names[-2:]]
        for column in self.tree.find_all(exp.Column):
            # Members may follow the column, as in ``s.t.c.m``: compare the first names.
            names = column.parts[:-1]
            if len(names) > 1 and [fold(name.name) for name in names[:2]] == wanted:
                yield names[0].meta["start"], names[1].meta["start"]

    @cached_property
    def column_starts(self) -> frozenset[int]:
        """The positions in the text where columns, with their qualifiers, start.

        Arguments of functions that sqlglot does not know are left out: there columns may name tables.
        """
        from sqlglot import exp

        columns = (c for c in self.tree.find_all(exp.Column) if c.find_ancestor(exp.Anonymous) is None)
        return frozenset(part.meta["start"] for c in columns for part in c.parts if "start" in part.meta)

    def condition(
        self,
        reference: Reference,
        schema: StructType,
        parameters: Sequence[Any] | Mapping[str, Any],
        settings: Settings,
    ) -> Predicate | None:
        """Return the condition by which files of a table may be skipped; None if there is none."""
        scope = _Scope.of(reference)
        if scope is None:
            return None
        values = self.values(parameters)
        resolve = functools.partial(self._resolve, reference, scope, schema)
        conditions = Conditions(resolve, values, settings.time_zone, settings.has_collation, self.lists)
        usable = []
        for node, meets_nulls in scope.conditions():
            found = conditions.read(node)
            if is_telling(found) and not (meets_nulls and may_keep_nulls(found)):
                usable.append(found)
        return And(tuple(usable)) if usable else None

    def most_rows(
        self, reference: Reference, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> int | None:
        """Return how many rows of a table are enough for the statement, whichever they are; None for all.

        They are for a SELECT of nothing but columns of the one table, with a LIMIT.
        """
        scope = _Scope.of(reference)
        if scope is None or scope.joins or _extra(scope.select, _PARTS_OF_HEAD):
            return None
        if any(each.unalias().key not in ("column", "star") for each in scope.select.expressions):
            return None
        values = self.values(parameters)
        limit, offset = (_whole_number(scope.select.args.get(part), values) for part in ("limit", "offset"))
        return None if limit is None or offset is None else limit + offset

    def equated(self, reference: Reference, schema: StructType) -> Iterator[tuple[Found, str, str]]:
        """Yield the columns of a table that only rows have which are equal to a column of another table.

        With each comes the case-folded name under which the statement uses the other table, and the name of
        the column there.
        """
        scope = _Scope.of(reference)
        if scope is None:
            return
        join = scope.joins[0] if scope.place < 0 and scope.joins else None
        for each in (
            (join.args.get("using") or []) if join is not None and join.side not in _KEEPS_LEFT else []
        ):
            found = _column(schema, (each.name,))
            if found is not None and join is not None:
                yield found, fold(join.this.alias_or_name), each.name
        resolve = functools.partial(self._resolve, reference, scope, schema)
        for node, _ in scope.conditions():
            if node.key != "eq":
                continue
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                found, path = resolve(one), _path(other.unnest())
                if found is not None and len(path) == 2 and fold(path[0]) != reference.known_as:
                    yield found, fold(path[0]), path[1]

    def values(self, parameters: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the placeholders, by their names in the tree."""
        if isinstance(parameters, Mapping):
            return {fold(str(name)): value for name, value in parameters.items()}
        numbered = {str(number): value for number, value in enumerate(parameters, 1)}
        return numbered | dict(zip(self.unnamed, parameters, strict=False))

    def _resolve(
        self, reference: Reference, scope: "_Scope", schema: StructType, node: "exp.Expr"
    ) -> Found | None:
        path = _path(node.unnest())
        if not path:
            return None
        if len(path) == 1:
            return None if fold(path[0]) in scope.merged else _column(schema, path)
        if fold(path[0]) == reference.known_as:
            return _column(schema, path[1:]) if scope.names[reference.known_as] == 1 else None
        return None if fold(path[0]) in self.qualifiers else _column(schema, path)


@dataclass(frozen=True)
class _Scope:
    """A SELECT with a table in FROM: as its first table (`place` -1), or in the join at `place`.

    `merged` are the columns of USING, whose plain names may stand for either side; `names` counts how often
    each name is used in FROM.
    """

    select: "exp.Select"
    joins: "list[exp.Join]"
    place: int
    merged: frozenset[str]
    names: "Counter[str]"

    @classmethod
    def of(cls, reference: Reference) -> "_Scope | None":
        """The scope of a reference; None if it is not fully understood."""
        from sqlglot import exp

        table = reference.node
        source: Any = table.parent
        if isinstance(source, exp.Join) and isinstance(source.parent, exp.Table):
            first: Any = source.parent.parent
        else:
            first = source if isinstance(source, exp.From) else source.parent.args.get("from_")
        if not isinstance(first, exp.From) or not isinstance(first.parent, exp.Select):
            return None
        select = first.parent
        # If FROM comes before SELECT, or SELECT is missing, sqlglot puts the joins below the first table.
        inner = first.this.args.get("joins") if isinstance(first.this, exp.Table) else None
        joins = [*(inner or []), *(select.args.get("joins") or [])]
        place = -1 if source is first else next((n for n, join in enumerate(joins) if join is source), None)
        known = {*_PARTS_OF_TABLE, "joins"} if source is first else _PARTS_OF_TABLE
        if place is None or _extra(table, known) or _renames(table) or _extra(select, _PARTS_OF_SELECT):
            return None
        if not all(map(_is_usual_join, joins)):
            return None
        merged = frozenset(fold(name.name) for join in joins for name in join.args.get("using") or [])
        sources = [first, *(select.args.get("joins") or [])]
        return cls(
            select, joins, place, merged, Counter(name for each in sources for name in _qualifiers(each))
        )

    def conditions(self) -> "Iterator[tuple[exp.Expr, bool]]":
        """The conditions that may skip files; True marks those that must not be TRUE on NULLs."""
        own = self.joins[self.place] if self.place >= 0 else None
        later = self.joins[self.place + 1 :]
        meets_nulls = own is not None and own.side in _KEEPS_LEFT
        meets_nulls = meets_nulls or any(join.side in _KEEPS_RIGHT for join in later)
        if own is not None and own.side not in _KEEPS_RIGHT and own.args.get("on") is not None:
            yield from ((node, False) for node in _conjuncts(own.args["on"]))
        if own is not None and own.kind in ("SEMI", "ANTI"):
            return  # Later joins do not see the table; the same name means another table's column.
        where = self.select.args.get("where")
        if where is not None:
            yield from ((node, meets_nulls) for node in _conjuncts(where.this))
        for join in itertools.takewhile(lambda join: not _is_comma(join), later):
            if join.side not in _KEEPS_LEFT and join.kind != "ANTI" and join.args.get("on") is not None:
                yield from ((node, meets_nulls) for node in _conjuncts(join.args["on"]))


# --- parsing ---------------------------------------------------------------------------------------


def parse_statement(text: str) -> Statement | None:
    """Parse a statement that reads tables; None for any other text or if sqlglot cannot parse it."""
    question = _QUESTION.match(text)
    offset = 0 if question is None else question.end()
    if _BEGINNING.match(text, offset) is None:
        return None
    with importing():
        from sqlglot.errors import SqlglotError

    dialect = _dialect()()
    # Blank out what comes before, so that positions stay those of the text.
    text = " " * offset + text[offset:]
    try:
        written = dialect.tokenize(text)
        named, (short, lists) = tuple(_named(written)), shortened_lists(written)
        tokens, specials = folded_tokens(short, text)
        try:
            trees = dialect.parser().parse(tokens, text)
        except (SqlglotError, RecursionError) as error:
            if not isinstance(error.__cause__ or error.__context__ or error, RecursionError):
                raise
            trees = dialect.parser().parse(shallow(tokens, _known_functions()), text)
        tree = trees[0] if len(trees) == 1 else None
        return None if tree is None else _statement(tree, tokens, specials, lists, named)
    except (SqlglotError, RecursionError):
        return None


@functools.cache
def _known_functions() -> frozenset[str]:
    parser: Any = _dialect().parser_class
    return frozenset((*parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *parser.NO_PAREN_FUNCTION_PARSERS))


def qualified_names(
    text: str, schemas: Collection[str], statement: Statement | None
) -> Iterator[QualifiedName]:
    """Yield the positions in a text that may name a table of one of the case-folded schemas.

    These are such names before a dot, and strings that contain one: DuckDB's ``query`` takes statements. A
    text that cannot be tokenized may name each at its start. `statement` is the parsed text, if it is one.
    """
    named = _names_of_text(text) if statement is None else statement.named
    if named is None:
        yield from (QualifiedName(0, schema, is_text=False) for schema in schemas)
        return
    for name in named:
        if not name.is_text:
            yield from [name] if name.schema in schemas else []
        else:
            yield from (replace(name, schema=schema) for schema in schemas if schema in name.schema)


@functools.lru_cache(maxsize=256)
def _names_of_text(text: str) -> tuple[QualifiedName, ...] | None:
    """The names and strings of a text; None if it cannot be tokenized."""
    with importing():
        from sqlglot.errors import SqlglotError
    try:
        return tuple(_named(_dialect()().tokenize(text)))
    except SqlglotError:
        return None


def _named(tokens: Sequence[Any]) -> Iterator[QualifiedName]:
    """Names before a dot, and strings with one, case-folded."""
    from sqlglot.tokenizer_core import TokenType

    names = (TokenType.VAR, TokenType.IDENTIFIER)
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        is_text = token.token_type not in names and "." in token.text
        if is_text or (following is not None and following.token_type == TokenType.DOT):
            yield QualifiedName(token.start, fold(token.text), is_text)


@functools.cache
def _dialect() -> "type[Dialect]":
    """DuckDB's dialect plus names in backticks and numbered unnamed placeholders."""
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.tokenizer_core import TokenType

    def unnamed(parser: Any) -> Any:
        return parser.expression(exp.Placeholder(this=f"?{parser._prev.start}"))

    class DuckDBWithPlaces(DuckDB):
        class Tokenizer(DuckDB.Tokenizer):
            IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - sqlglot reads a class attribute

        class Parser(DuckDB.Parser):  # type: ignore[valid-type,misc]
            PLACEHOLDER_PARSERS = {  # noqa: RUF012 - sqlglot reads a class attribute
                **DuckDB.Parser.PLACEHOLDER_PARSERS,
                TokenType.PLACEHOLDER: unnamed,
            }

    return DuckDBWithPlaces


def _statement(
    tree: "exp.Expr",
    tokens: Sequence[Any],
    specials: Mapping[int, Travel | Call],
    lists: ListedLiterals,
    named: tuple[QualifiedName, ...],
) -> Statement | None:
    from sqlglot import exp

    if tree.key not in _READING:
        return None
    defined = {fold(each.alias) for each in tree.find_all(exp.CTE)}
    references = []
    for table in tree.find_all(exp.Table):
        parts = table.parts
        if not all(isinstance(part, exp.Identifier) and "end" in part.meta for part in parts):
            continue
        if _extra(table, {*_PARTS_OF_TABLE, "joins", "sample", "pivots"}):
            continue
        is_read = table.parent is not None and table.parent.key in ("from", "join", "subquery")
        special = specials.get(parts[-1].meta["start"])
        if is_read and (len(parts) > 1 or special is not None or fold(parts[0].name) not in defined):
            span = parts[0].meta["start"], parts[-1].meta["end"] + 1
            names = tuple(part.name for part in parts)
            references.append(Reference(names, span, table.alias or None, table, special))
    own = {id(reference.node) for reference in references}
    if tree.key in ("create", "insert"):
        own.add(id(tree.this.find(exp.Table)))
    others = {fold(each.name) for each in tree.find_all(exp.Table) if id(each) not in own}
    others |= {fold(each.name) for each in tree.find_all(exp.Literal) if each.is_string}
    others |= {fold(each.text) for listed in lists.values() for each in listed if _is_string(each)}
    unnamed = [str(p.name) for p in tree.find_all(exp.Placeholder)]
    unnamed += [name for special in specials.values() for name in special.placeholders]
    unnamed = [name for name in unnamed if name.startswith("?")]
    return Statement(
        tree,
        tuple(references),
        frozenset(fold(token.text) for token in tokens),
        frozenset(_qualifiers(tree)),
        frozenset(others),
        tuple(sorted(unnamed, key=lambda name: int(name[1:]))),
        _hides_columns(tree),
        frozenset(_unknown_functions(tree)),
        tree.key == "create" and tree.args.get("kind") != "TABLE",
        lists,
        named,
    )


def _is_string(token: Any) -> bool:
    return str(token.token_type.name) == "STRING"


def _qualifiers(tree: "exp.Expr") -> Iterator[str]:
    """The names of tables, and of their schemas and databases."""
    from sqlglot import exp

    for node in tree.find_all(exp.Table, exp.TableAlias):
        if node.key == "tablealias":
            yield fold(node.name)
        elif isinstance(node, exp.Table):
            own = [] if node.alias else [node.parts[-1]]
            yield from (fold(part.name) for part in [*node.parts[:-1], *own])


def _hides_columns(tree: "exp.Expr") -> bool:
    from sqlglot import exp

    if tree.find(exp.Columns, exp.PositionalColumn, exp.Pivot) is not None:
        return True
    return _has_star(tree) or any(join.method == "NATURAL" for join in tree.find_all(exp.Join))


def _has_star(tree: "exp.Expr") -> bool:
    from sqlglot import exp

    return any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))


def _unknown_functions(tree: "exp.Expr") -> Iterator[str]:
    """The names of functions that sqlglot does not know, with a dot before them if they have a schema."""
    from sqlglot import exp

    for each in tree.find_all(exp.Anonymous):
        yield f".{fold(each.name)}" if isinstance(each.parent, exp.Dot) else fold(each.name)


def _extra(node: "exp.Expr", known: set[str]) -> bool:
    """Whether a node has arguments besides the known ones."""
    return not {name for name, part in node.args.items() if part} <= known


def _renames(table: "exp.Table") -> bool:
    alias = table.args.get("alias")
    return alias is not None and _extra(alias, {"this"})


def _is_usual_join(join: "exp.Join") -> bool:
    is_known = join.side in _SIDES and join.kind in _KINDS and not join.method
    return is_known and not _extra(join, _PARTS_OF_JOIN)


def _whole_number(part: "exp.Expr | None", values: Mapping[str, Any]) -> int | None:
    """The number of a LIMIT or an OFFSET, which is 0 if there is none; None for anything else."""
    if part is None:
        return 0
    node = part.args.get("expression")
    if node is None or _extra(part, {"expression"}):
        return None
    if node.key == "placeholder":
        value = values.get(fold(str(node.name)))
    else:
        value = int(node.name) if node.key == "literal" and node.is_int else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_comma(join: "exp.Join") -> bool:
    """Whether it is a comma. It binds less tightly than joins: later joins do not see what is before it."""
    return not _extra(join, {"this"})


def _conjuncts(node: "exp.Expr") -> "Iterator[exp.Expr]":
    node = node.unnest()
    if node.key == "and":
        yield from itertools.chain.from_iterable(map(_conjuncts, node.flatten()))
    else:
        yield node


def _path(node: "exp.Expr") -> tuple[str, ...]:
    """The names of a column or of a struct member; empty for anything else."""
    if node.key == "column":
        parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
        names = [part for part in parts if part is not None]
        return tuple(part.name for part in names) if all(part.key == "identifier" for part in names) else ()
    if node.key == "dot" and node.expression.key == "identifier":
        inner = _path(node.this.unnest())
        return (*inner, node.expression.name) if inner else ()
    return ()


def _column(schema: StructType, path: Sequence[str]) -> Found | None:
    found: list[Field] = []
    within: DataType = schema
    for name in path:
        fields = within.fields if isinstance(within, StructType) else ()
        matches = [each for each in fields if fold(each.name) == fold(name)]
        if len(matches) != 1:
            return None
        found += matches
        within = matches[0].type
    return Column(tuple(each.name for each in found)), within
