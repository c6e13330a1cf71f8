r"""Parsing of SQL text to sqlglot's tree, by Spark's lexical rules.

sqlglot only parses: every function call stays a name with arguments. String literals are read again by
Spark's own rules (``\n``, ``\u00e9``, ``\101``, ``\%``, doubled quotes), and text outside quotes must be
plain ASCII without comments. Where sqlglot binds operators in another order than Spark, the text is refused
until it has parentheses.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from deltaarrow.display.marked_line import marked_line, shortened
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.runtime.gc_pause import importing
from deltaarrow.spark_sql.text.literal_lists import listed_members, shortened_lists
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.tree.positioned_errors import placed_in

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

__all__ = [
    "EXPRESSION_REFUSES",
    "TextRules",
    "expression_dialect",
    "is_suffix",
    "is_try",
    "parse_statement",
    "parse_tree",
    "replaced_token",
    "string_value",
    "tokenize",
    "tokenize_duckdb",
]

_WRITTEN, _TRIED = "written as CAST", "written as TRY_CAST"
_MAX_LENGTH = 20_000
_MAX_TOKENS = 4_000
_MAX_DEPTH = 60

EXPRESSION_REFUSES = frozenset(("SEMICOLON", "PARAMETER", "PLACEHOLDER", "HINT", "NCHAR", "NVARCHAR"))
"""The names of sqlglot's kinds of tokens that no expression has."""

_STRING = {
    "'": re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL),
    '"': re.compile(r'"((?:[^"\\]|\\.|"")*)"', re.DOTALL),
}
_RAW_STRING = re.compile(r"[rR]('[^']*'|\"[^\"]*\")")
_HEX_STRING = re.compile(r"[xX]'([0-9a-fA-F]*)'")
_COMMENT = re.compile(r"--[^\n]*|/\*(?!\+)(?:(?!/\*).)*?\*/", re.DOTALL)
_CLOSED = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|(?!/\*)[^'\"`]", re.DOTALL
)
"""One thing of a text: a comment, a quoted text or name, or another character."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPERANDS = frozenset({"NUMBER", "STRING", "IDENTIFIER", "VAR", "R_PAREN", "R_BRACKET"})
_SUBSTRINGS = ("SUBSTR", "SUBSTRING")
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

_COMPARISONS = frozenset({"eq", "neq", "lt", "lte", "gt", "gte", "nullsafeeq", "nullsafeneq"})
_PREDICATES = frozenset({"is", "in", "between", "like", "ilike", "escape", "regexplike", "not", "and", "or"})
_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "mod", "intdiv", "neg"})
_BITWISE = frozenset({"bitwiseand", "bitwiseor", "bitwisexor", "bitwiseleftshift", "bitwiserightshift"})
_TAKES_VALUES = (
    _COMPARISONS
    | _ARITHMETIC
    | _BITWISE
    | {"bitwisenot"}
    | (_PREDICATES - {"and", "or", "not", "escape"})
    | {"dpipe"}
)


def parse_tree(text: str, *, is_stored: bool = True) -> "exp.Expr":
    """The tree of one expression.

    Args:
        text: the expression.
        is_stored: whether the text comes from a table and so may be hostile; its length is then limited, and
            comments are refused.

    Raises:
        UnsupportedFeatureError: the text is not one expression of the supported part of Spark SQL.
    """
    return parse_statement(text, _ExpressionText(is_stored))


@dataclass(frozen=True)
class _ExpressionText:
    """The rules of a text that is one expression."""

    is_stored: bool
    refused_tokens: frozenset[str] = EXPRESSION_REFUSES

    def dialect(self) -> Any:
        return expression_dialect()

    def prepared(self, tokens: list[Any]) -> list[Any]:
        return tokens


class TextRules(Protocol):
    """What a text may consist of: how it is taken apart, and whether it may be hostile."""

    @property
    def is_stored(self) -> bool:
        """Whether the text comes from a table; its length is then limited, and comments are refused."""
        ...

    @property
    def refused_tokens(self) -> frozenset[str]:
        """The names of sqlglot's kinds of tokens that are refused."""
        ...

    def dialect(self) -> Any:
        """The dialect that parses it."""
        ...

    def prepared(self, tokens: list[Any]) -> list[Any]:
        """The tokens that are parsed in place of these."""
        ...


def parse_statement(text: str, rules: TextRules) -> "exp.Expr":
    """The tree of one expression or query; raises as `parse_tree` does."""
    with importing():
        from sqlglot.errors import SqlglotError

    if rules.is_stored and len(text) > _MAX_LENGTH:
        raise refused(f"a text of {len(text)} characters (more than {_MAX_LENGTH})")
    if _SURROGATE.search(text):
        raise refused("half of a surrogate pair")
    try:
        dialect = rules.dialect()
        tokens = [_checked(token, text) for token in dialect.tokenize(text)]
        _ensure_plain(tokens, text, rules)
        return _parsed(rules.prepared(_in_other_words(tokens, text)), text, dialect)
    except SqlglotError as error:
        if isinstance(error.__cause__ or error.__context__, RecursionError):
            raise refused("deep nesting") from error
        raise _unparsed(text, error, "expression") from error
    except RecursionError as error:
        raise refused("deep nesting") from error


def _parsed(tokens: Sequence[Any], text: str, dialect: Any) -> "exp.Expr":
    """The tree of the tokens of one statement, with the literals of long lists, which are not parsed."""
    short, lists = shortened_lists(tokens)
    tree = _single(dialect.parser().parse(short, text))
    if not lists:
        return tree
    members = [(node, found) for node in tree.walk() if (found := listed_members(node, lists)) is not None]
    if len({node.expressions[0].name for node, _ in members}) < len(lists):
        # A bracket behind an IN that is no list: `position(a IN (1, 2))`.
        return _single(dialect.parser().parse(tokens, text))
    for node, found in members:
        node.set("expressions", found)
    return tree


def _single(statements: Sequence["exp.Expr | None"]) -> "exp.Expr":
    """The tree of the only statement of a text."""
    if len(statements) != 1 or statements[0] is None:
        raise refused("a text of several statements" if any(statements) else "an empty text")
    _ensure_same_precedence(statements[0])
    return statements[0]


def tokenize(text: str) -> list[Any]:
    """The tokens of a text in Spark SQL, each with its place in it.

    Raises `UnsupportedFeatureError` for what is no tokens, such as a quote that is not closed.
    """
    return _tokens(text, _statement_dialect())


def tokenize_duckdb(text: str) -> list[Any]:
    """The tokens of a text in DuckDB's SQL, and names in backticks; see `tokenize`."""
    return _tokens(text, _duckdb_dialect())


def _tokens(text: str, dialect: Any) -> list[Any]:
    with importing():
        from sqlglot.errors import SqlglotError
    with placed_in(text):
        try:
            tokens: list[Any] = dialect.tokenize(text)
        except SqlglotError as error:
            raise _unparsed(text, error, "SQL text") from error
    return tokens


@functools.cache
def _statement_dialect() -> Any:
    """The dialect of `expression_dialect` that takes statements such as OPTIMIZE and VACUUM apart too."""
    expressions = expression_dialect()

    class Statements(type(expressions)):  # type: ignore[misc]
        class Tokenizer(expressions.tokenizer_class):  # type: ignore[misc, name-defined]
            COMMANDS: Any = set()  # noqa: RUF012 - sqlglot reads class attributes

    return Statements()


@functools.cache
def _duckdb_dialect() -> Any:
    from sqlglot.dialects.duckdb import DuckDB

    class Statements(DuckDB):
        class Tokenizer(DuckDB.Tokenizer):
            COMMANDS: ClassVar[Any] = set()
            IDENTIFIERS = ['"', "`"]  # noqa: RUF012

    return Statements()


@functools.cache
def expression_dialect() -> Any:
    """The dialect of expressions: Spark's, in which every function call stays a name with arguments."""
    from sqlglot.dialects.spark import Spark

    class StoredExpressions(Spark):
        class Tokenizer(Spark.Tokenizer):
            STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - sqlglot reads class attributes

        class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
            COLON_IS_VARIANT_EXTRACT = True
            FUNCTIONS: Any = {}  # noqa: RUF012
            FUNCTION_PARSERS = {  # noqa: RUF012
                "CAST": lambda parser: _marked(Spark.Parser.FUNCTION_PARSERS["CAST"](parser)),
                "TRY_CAST": lambda parser: _tried(Spark.Parser.FUNCTION_PARSERS["TRY_CAST"](parser)),
                "OVERLAY": lambda parser: _listed(
                    parser, Spark.Parser.FUNCTION_PARSERS, "overlay", ("this", "expression", "from_", "for_")
                ),
                "POSITION": _position,
                "SUBSTRING": lambda parser: _listed(
                    parser, Spark.Parser.FUNCTION_PARSERS, "substring", ("this", "start", "length")
                ),
                "TRIM": Spark.Parser.FUNCTION_PARSERS["TRIM"],
                "EXTRACT": Spark.Parser.FUNCTION_PARSERS["EXTRACT"],
            }
            NO_PAREN_FUNCTIONS: Any = {}  # noqa: RUF012
            # Else `array(1)[0]` and `CAST(array(1) AS ARRAY<INT>)[0]` are read as `ARRAY[0]`.
            ARRAY_CONSTRUCTORS: Any = {}  # noqa: RUF012
            NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
                "CASE": Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
            }

            # A string in single or double quotes is no name.
            def _parse_id_var(self, any_token: bool = True, tokens: Any = None) -> Any:
                is_string = self._curr and self._curr.token_type.name == "STRING"
                return None if is_string else super()._parse_id_var(any_token, tokens)

            def _parse_string_as_identifier(self) -> None:
                return None

    return StoredExpressions()


def _listed(parser: Any, parsers: Any, name: str, parts: tuple[str, ...]) -> Any:
    """A call whose arguments may have words such as ``FROM`` between them, as one with a list of them."""
    start = _start_of_call(parser)
    found = parsers[name.upper()](parser)
    return _call(name, [found.args[each] for each in parts if found.args.get(each) is not None], start)


def _position(parser: Any) -> Any:
    """``position(part, text[, start])``, or ``position(part IN text)``, which is ``locate`` in Spark."""
    from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

    start, name = _start_of_call(parser), "position"
    given = parser._parse_csv(parser._parse_bitwise)
    if parser._match(TokenType.IN):
        name = "locate"
        given.append(parser._parse_bitwise())
    return _call(name, given, start)


def _start_of_call(parser: Any) -> int:
    """Where the call begins behind whose bracket the parser stands."""
    start: int = parser._tokens[parser._index - 2].start
    return start


def _call(name: str, arguments: list[Any], start: int) -> Any:
    from sqlglot import exp

    call = exp.Anonymous(this=name, expressions=arguments)
    call.meta["start"] = start
    return call


def is_suffix(node: "exp.Expr") -> bool:
    """Whether a cast stands for the suffix of a number, as in ``1L``."""
    return node.key in ("cast", "trycast") and node.this.key == "literal" and _WRITTEN not in node.meta


def _marked(node: Any) -> Any:
    node.meta[_WRITTEN] = True
    return node


def is_try(node: "exp.Expr") -> bool:
    """Whether a cast was written as TRY_CAST."""
    return _TRIED in node.meta


def _tried(node: Any) -> Any:
    node.meta[_WRITTEN] = node.meta[_TRIED] = True
    return node


def _checked(token: Any, text: str) -> Any:
    """The token; a string literal gets the text that Spark reads in it."""
    raw, kind = text[token.start : token.end + 1], token.token_type.name
    if kind == "STRING":
        token.text = _unescaped(raw)
    elif kind == "RAW_STRING":
        if not _RAW_STRING.fullmatch(raw):
            raise refused(f"the literal {raw}", token.start)
        token.text = raw[2:-1]
    elif kind == "HEX_STRING":
        if not _HEX_STRING.fullmatch(raw):
            raise refused(f"the literal {raw}", token.start)
    elif kind == "NUMBER" and not _NUMBER.fullmatch(token.text):
        raise _ill_formed(f"{raw} is not a number", token.start)
    elif not (kind == "IDENTIFIER" and raw[:1] == "`") and not raw.isascii():
        place, odd = next((place, each) for place, each in enumerate(raw) if not each.isascii())
        raise refused(f"the character {odd!r} outside quotes", token.start + place)
    if "\0" in token.text:
        raise refused("the character U+0000", token.start)
    return token


def string_value(raw: str) -> str:
    """The text that Spark reads in a literal, which is given with its quotes."""
    return raw[2:-1] if _RAW_STRING.fullmatch(raw) else _unescaped(raw)


def _unescaped(raw: str) -> str:
    pattern = _STRING.get(raw[:1])
    found = pattern.fullmatch(raw) if pattern else None
    if found is None:
        raise refused(f"the literal {raw}")
    quote = raw[0]
    # A doubled quote cannot begin inside an escape: escapes are matched first, from the left.
    pieces = re.split(r"(\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.))", found[1], flags=re.DOTALL)
    return "".join(
        _unescaped_one(piece) if place % 2 else piece.replace(quote * 2, quote)
        for place, piece in enumerate(pieces)
    )


def _unescaped_one(escape: str) -> str:
    found = _ESCAPE.fullmatch(escape)
    assert found is not None
    code = found[1] or found[2]
    if code is None and found[3] is None:
        return _ESCAPED.get(found[4], found[4])
    number = int(code, 16) if code else int(found[3], 8)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise refused(f"the escape {escape}")
    return chr(number)


def _ill_formed(why: str, place: int) -> UnsupportedFeatureError:
    refusal = UnsupportedFeatureError(
        f"cannot parse the SQL expression at character {place + 1}: {why}", feature="expression"
    )
    refusal.place = "", place
    return refusal


def _unparsed(text: str, error: "SqlglotError", feature: str) -> UnsupportedFeatureError:
    """The error: what is wrong, at which character, and the line with a caret below it."""
    first: dict[str, Any] = next(iter(getattr(error, "errors", None) or [{}]))
    unclosed = None if first.get("line") else _unclosed(text)
    if first.get("line"):
        why, place = _told(text, first)
    elif unclosed is not None:
        place = unclosed
        why = f"{'a comment' if text.startswith('/*', place) else f'a {text[place]}'} is not closed"
    else:
        return UnsupportedFeatureError(
            f"cannot parse the SQL expression {text!r}: it is not understood", feature=feature
        )
    refusal = UnsupportedFeatureError(
        f"cannot parse the SQL expression at character {place + 1}: {why}\n{marked_line(text, place)}",
        feature=feature,
    )
    refusal.place = "", place
    return refusal


def _told(text: str, first: dict[str, Any]) -> tuple[str, int]:
    """What sqlglot's parser says is wrong, and where in the text."""
    lines = text.splitlines()
    number, shown = first["line"] - 1, first["highlight"] or ""
    place = sum(len(each) + 1 for each in lines[:number]) + max(first["col"] - len(shown), 0)
    why = (first["description"] or "").partition(" but got <Token")[0]
    if why.startswith("Required keyword"):
        return "an operand is missing", place
    if missing := _MISSING.fullmatch(why):
        return f"a {missing[1]} is missing", place
    return _unexpected(shown) if why.startswith("Invalid expression") or "<" in why else why, place


_MISSING = re.compile(r"Expect(?:ing|ed) ([)\]}])")
_WRITTEN_INSTEAD = {
    "&&": "write AND",
    "where": "give the condition alone",
    "=>": "write >= for greater or equal",
}
"""What users of other languages write -> what to do about it."""


def _unexpected(shown: str) -> str:
    """What is wrong with a word that has no place where it stands."""
    instead = _WRITTEN_INSTEAD.get(shown.lower())
    return f"`{shortened(shown)}` is not expected here" + (f"; {instead}" if instead else "")


def _unclosed(text: str) -> int | None:
    """Where a quote or a comment begins that is not closed."""
    place = 0
    while place < len(text):
        found = _CLOSED.match(text, place)
        if found is None:
            return place
        place = found.end()
    return None


def _ensure_plain(tokens: list[Any], text: str, rules: TextRules) -> None:
    """Allow only blanks between tokens: no character that one lexer skips and another reads."""
    if rules.is_stored and len(tokens) > _MAX_TOKENS:
        raise refused(f"a text of {len(tokens)} words (more than {_MAX_TOKENS})")
    place = depth = 0
    before = ""
    for token in tokens:
        is_length = before in ("CHAR", "VARCHAR")
        if is_length and token.token_type.name != "L_PAREN":
            raise _ill_formed(f"{before} has no length", token.start)
        before = token.token_type.name
        if between := _beside(text[place : token.start], rules.is_stored):
            raise refused(f"{between!r} between words", text.find(between[0], place))
        place = max(place, token.end + 1)
        depth += {"L_PAREN": 1, "CASE": 1, "R_PAREN": -1, "END": -1}.get(token.token_type.name, 0)
        if depth > _MAX_DEPTH:
            raise refused("deep nesting")
        if token.token_type.name in rules.refused_tokens:
            raise refused(token.text.upper() or "a hint", token.start)
    if after := _beside(text[place:], rules.is_stored):
        raise refused(f"{after!r} at the end")
    kinds = [token.token_type.name for token in tokens]
    if kinds.count("WHEN") > kinds.count("THEN"):  # sqlglot takes a WHEN without THEN.
        raise _ill_formed("a WHEN has no THEN", tokens[kinds.index("WHEN")].start)


def _in_other_words(tokens: list[Any], text: str) -> list[Any]:
    """The tokens with parentheses and commas that sqlglot needs to read them as Spark does.

    ================================  ========================  ===========================================
    written                           parsed                    sqlglot
    ================================  ========================  ===========================================
    ``1::STRING``                     ``(1)::STRING``           reads ``1L`` as ``1::BIGINT``
    ``ON TRUE``                       ``ON (TRUE)``             adds an ``ON TRUE`` where none was written
    ``substring(s FROM 2 FOR 3)``     ``substring(s, 2, 3)``    takes it for no call
    ================================  ========================  ===========================================
    """
    found: list[Any] = []
    closings: list[bool] = []
    for place, token in enumerate(tokens):
        kind, before = token.token_type.name, tokens[place - 1] if place else token
        if kind == "L_PAREN":
            closings.append(before.text.upper() in _SUBSTRINGS)
        elif kind == "R_PAREN" and closings:
            closings.pop()
        if kind in ("FROM", "FOR") and closings and closings[-1]:
            found.append(replaced_token(token, "COMMA", ","))
        elif kind == "TRUE" and before.token_type.name == "ON":
            found += _in_parentheses(token)
        elif text[token.start : token.end + 1] == "::" and before.token_type.name in ("NUMBER", "STRING"):
            if _is_negative(tokens[max(place - 3, 0) : place]):
                raise refused("'::' after a negative number without parentheses", token.start)
            found[-1:] = [*_in_parentheses(before), token]
        else:
            found.append(token)
    return found


def _is_negative(tokens: list[Any]) -> bool:
    """Whether a sign of its own stands before the last of three tokens, which no operand precedes."""
    kinds = ["", "", *(each.token_type.name for each in tokens)]
    return kinds[-2] == "DASH" and kinds[-3] not in _OPERANDS


def _in_parentheses(token: Any) -> list[Any]:
    return [replaced_token(token, "L_PAREN", "("), token, replaced_token(token, "R_PAREN", ")")]


def replaced_token(token: Any, kind: str, text: str) -> Any:
    """A token of another kind in the place of one."""
    from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

    return Token(
        TokenType[kind],
        text,
        line=token.line,
        col=token.col,
        start=token.start,
        end=token.end,
        comments=token.comments,
    )


def _beside(text: str, is_stored: bool) -> str:
    """The text between tokens without blanks and, in users' texts, without comments."""
    return (text if is_stored else _COMMENT.sub(" ", text)).strip(" \t\r\n")


def _ensure_same_precedence(tree: "exp.Expr") -> None:
    """Raise if Spark would group the operators of a text differently than sqlglot did.

    In Spark all comparisons have one precedence, tests such as IS NULL and IN have a lower one, and ``||``
    has that of ``+``; each bitwise operator has its own.
    """
    for node in tree.walk():
        below = {child.key for child in node.iter_expressions()}
        unclear: set[str] = set()
        if node.key in _TAKES_VALUES:
            unclear |= below & (_COMPARISONS | _PREDICATES)
        if node.key == "dpipe":
            unclear |= below & _ARITHMETIC
        elif node.key in _ARITHMETIC:
            unclear |= below & ({"dpipe"} | _BITWISE)
        elif node.key in _BITWISE:
            unclear |= below & ((_BITWISE - {node.key}) | {"dpipe"})
        if unclear:
            raise refused(f"{node.key.upper()} over {min(unclear).upper()} without parentheses")
