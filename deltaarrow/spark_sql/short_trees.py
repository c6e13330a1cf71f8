"""Trees of short conditions, read without sqlglot: comparisons of columns and literals that AND joins.

Most conditions of DELETE, UPDATE and MERGE are of this form, and `import sqlglot` takes as long as
`import pyarrow`. A tree has the members of sqlglot's trees that binding reads. Any other text is left to
sqlglot: keywords as names, functions, arithmetic, OR, parentheses, comments, escapes and whatever is wrong.
So an error of syntax is always sqlglot's.

    condition := comparison (AND comparison)*
    comparison := value | value operator value | value IN (literal, ...)
    value := column | literal
    column := name | name.name
    literal := number | -number | 'text' | TRUE | FALSE
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["COMPARISONS", "KEYWORDS", "ShortTree", "short_tree"]

_MOST_CHARACTERS = 1_000
_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[^`\\\x00-\x1f\ud800-\udfff]+`)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?)(?![A-Za-z0-9_.`])"
    r"|'(?P<text>[^'\\\x00-\x1f\ud800-\udfff]*)'"
    r"|(?P<sign><=>|<=|>=|==|<>|!=|[=<>.,()-])"
)
_BLANKS = re.compile(r"[ \t\r\n]*")
_OPERATORS = {
    "=": "eq",
    "==": "eq",
    "<>": "neq",
    "!=": "neq",
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
    "<=>": "nullsafeeq",
}
COMPARISONS = {
    "eq": "=",
    "neq": "<>",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "nullsafeeq": "IS NOT DISTINCT FROM",
}
"""The key of a comparison in a tree -> its operator in DuckDB's SQL."""

_WORDS = """
ALL ALTER ANALYZE AND ANTI ANY APPLY ARRAY AS ASC ASOF AUTOINCREMENT AUTO_INCREMENT BEGIN BETWEEN BIGDECIMAL
BIGINT BIGNUM BIGNUMERIC BINARY BIT BLOB BOOL BOOLEAN BPCHAR BYTE BYTEA CACHE CALL CASE CHAR CHARACTER CLOB
COLLATE COLUMN COMMENT COMMIT CONSTRAINT COPY CREATE CROSS CUBE CURRENT_CATALOG CURRENT_DATE CURRENT_SCHEMA
CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATE DATEMULTIRANGE DATERANGE DATETIME DEC DECFLOAT
DECIMAL DECIMAL128 DECIMAL256 DECIMAL32 DECIMAL64 DECLARE DEFAULT DELETE DESC DESCRIBE DISTINCT DIV DOUBLE
DROP ELSE END ENUM ESCAPE EXCEPT EXECUTE EXISTS EXPLAIN FALSE FETCH FILE FILTER FIRST FIXED FLOAT FLOAT4
FLOAT8 FOR FORMAT FROM FULL FUNCTION GEOGRAPHY GEOMETRY GLOB GRANT HAVING HUGEINT ILIKE IN INDEX INET INNER
INSERT INT INT1 INT128 INT16 INT2 INT256 INT32 INT4 INT4MULTIRANGE INT4RANGE INT64 INT8 INT8MULTIRANGE
INT8RANGE INTEGER INTERSECT INTERVAL INTO IS ISNULL JOIN JSON JSONB KEEP KILL LATERAL LEFT LIKE LIMIT LIST
LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LONGVARCHAR MAP MEDIUMBLOB MEDIUMINT MEDIUMTEXT
MERGE MINUS NAMESPACE NATURAL NCHAR NEXT NOT NOTNULL NULL NULLABLE NUMBER NUMERIC NUMMULTIRANGE NUMRANGE
NVARCHAR NVARCHAR2 OBJECT OFFSET ON OPERATOR OPTIMIZE OR ORDINALITY OUT OUTER OVER OVERLAPS OVERWRITE
PARTITION PARTITIONED_BY PERCENT PIVOT PRAGMA PREPARE PROCEDURE QUALIFY RANGE REAL RECURSIVE REF REFERENCES
REFRESH REGEXP RENAME REPLACE RETURNING REVOKE RIGHT RLIKE ROLLBACK ROLLUP ROW ROWS SCHEMA SELECT SEMI
SEQUENCE SERDEPROPERTIES SESSION SESSION_USER SET SETTINGS SHORT SHOW SMALLINT SOME STR STRAIGHT_JOIN STRING
STRUCT TABLE TABLESAMPLE TEMP TEMPORARY TEXT THEN TIME TIMESTAMP TIMESTAMPLTZ TIMESTAMPNTZ TIMESTAMPTZ
TIMESTAMP_LTZ TIMESTAMP_NTZ TIMETZ TIME_NS TINYBLOB TINYINT TINYTEXT TRIGGER TRUE TRUNCATE TSMULTIRANGE
TSRANGE TSTZMULTIRANGE TSTZRANGE UHUGEINT UINT UINT128 UINT256 UNCACHE UNION UNIQUE UNKNOWN UNNEST UNPIVOT
UPDATE USE USING UUID VACUUM VALUES VARBINARY VARCHAR VARCHAR2 VARIANT VECTOR VIEW VOLATILE WHEN WHERE
WINDOW WITH XOR
"""

KEYWORDS = frozenset(_WORDS.split())
"""The words that sqlglot does not always read as names."""


class ShortTree:
    """A node with the members of sqlglot's `Expr` that binding reads, under the same keys."""

    __slots__ = ("args", "key", "meta")

    def __init__(self, key: str, args: Mapping[str, Any], start: int | None = None) -> None:
        self.key = key
        self.args = dict(args)
        self.meta: dict[str, Any] = {} if start is None else {"start": start}

    @property
    def this(self) -> Any:
        """The first operand, or the value of a leaf."""
        return self.args.get("this")

    @property
    def expression(self) -> Any:
        """The second operand."""
        return self.args.get("expression")

    @property
    def expressions(self) -> Sequence[Any]:
        """The values in the parentheses of IN."""
        return self.args.get("expressions") or []

    @property
    def name(self) -> str:
        """The name of a column, without its table."""
        return self.this.name if isinstance(self.this, ShortTree) else str(self.this)

    @property
    def is_string(self) -> bool:
        """Whether this is a text."""
        return self.key == "literal" and bool(self.args["is_string"])

    def iter_expressions(self) -> "Iterator[ShortTree]":
        """Yield the nodes directly below."""
        for part in self.args.values():
            yield from (each for each in (part if isinstance(part, list) else [part]) if _is_tree(each))

    def sql(self, *, dialect: str, comments: bool) -> str:
        """Return the SQL that sqlglot writes; the arguments are those of its method."""
        del dialect, comments
        return _written(self)


def short_tree(text: str) -> ShortTree | None:
    """Return the tree of a text, as sqlglot would parse it; None for a text that is left to sqlglot.

    >>> tree = short_tree("t.id = s.id AND day >= '2026-01-01'")
    >>> tree.sql(dialect="spark", comments=False)
    "t.id = s.id AND day >= '2026-01-01'"
    >>> short_tree("upper(name) = 'A'") is None
    True
    """
    if len(text) > _MOST_CHARACTERS:
        return None
    try:
        return _Reader(text).condition()
    except _LeftError:
        return None


class _LeftError(Exception):
    """The text is left to sqlglot."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._next = self._token(0)

    def _token(self, place: int) -> tuple[str, str, int, int]:
        """The kind, the text, the start and the end of the token at a place, after blanks."""
        blanks = _BLANKS.match(self._text, place)
        start = place if blanks is None else blanks.end()
        if start == len(self._text):
            return "end", "", start, start
        found = _TOKEN.match(self._text, start)
        if found is None or found.lastgroup is None:
            raise _LeftError
        return found.lastgroup, found[found.lastgroup], start, found.end()

    def _take(self, sign: str = "") -> tuple[str, str, int]:
        kind, text, start, end = self._next
        if sign and (kind, text) != ("sign", sign):
            raise _LeftError
        self._next = self._token(end)
        return kind, text, start

    def _is_word(self, word: str) -> bool:
        return self._next[0] == "name" and self._next[1].upper() == word

    def _is_sign(self, sign: str) -> bool:
        return self._next[:2] == ("sign", sign)

    def condition(self) -> ShortTree:
        found = self._comparison()
        while self._is_word("AND"):
            self._take()
            found = ShortTree("and", {"this": found, "expression": self._comparison()})
        if self._next[0] != "end":
            raise _LeftError
        return found

    def _comparison(self) -> ShortTree:
        left = self._value()
        if self._is_word("IN"):
            self._take()
            self._take("(")
            listed = [self._literal()]
            while self._is_sign(","):
                self._take()
                listed.append(self._literal())
            self._take(")")
            return ShortTree("in", {"this": left, "expressions": listed})
        if self._next[0] != "sign":
            return left
        key = _OPERATORS.get(self._take()[1])
        if key is None:
            raise _LeftError
        return ShortTree(key, {"this": left, "expression": self._value()})

    def _value(self) -> ShortTree:
        if self._next[0] != "name" or self._next[1].upper() in ("TRUE", "FALSE"):
            return self._literal()
        name = self._name()
        if not self._is_sign("."):
            return ShortTree("column", {"this": name})
        self._take()
        return ShortTree("column", {"this": self._name(), "table": name})

    def _name(self) -> ShortTree:
        kind, text, start = self._take()
        if kind != "name" or text.upper() in KEYWORDS:
            raise _LeftError
        is_quoted = text.startswith("`")
        return ShortTree("identifier", {"this": text.strip("`"), "quoted": is_quoted}, start)

    def _literal(self) -> ShortTree:
        kind, text, start = self._take()
        if (kind, text) == ("sign", "-") and self._next[0] == "number":
            return ShortTree("neg", {"this": self._literal()})
        if kind == "name" and text.upper() in ("TRUE", "FALSE"):
            return ShortTree("boolean", {"this": text.upper() == "TRUE"})
        if kind not in ("number", "text"):
            raise _LeftError
        return ShortTree("literal", {"this": text, "is_string": kind == "text"}, start)


def _is_tree(part: Any) -> bool:
    return isinstance(part, ShortTree)


def _written(tree: ShortTree) -> str:
    match tree.key:
        case "literal":
            return f"'{tree.this}'" if tree.is_string else str(tree.this)
        case "boolean":
            return str(tree.this).upper()
        case "identifier":
            return f"`{tree.this}`" if tree.args["quoted"] else str(tree.this)
        case "column":
            return ".".join(_written(tree.args[part]) for part in ("table", "this") if part in tree.args)
        case "neg":
            return f"-{_written(tree.this)}"
        case "in":
            return f"{_written(tree.this)} IN ({', '.join(map(_written, tree.expressions))})"
        case "and":
            return f"{_written(tree.this)} AND {_written(tree.expression)}"
        case key:
            return f"{_written(tree.this)} {COMPARISONS[key]} {_written(tree.expression)}"
