"""Types and columns as statements declare them, in Spark's and in DuckDB's dialect.

==========================  =======================  ========================================
Spark                       DuckDB                   Delta
==========================  =======================  ========================================
``BIGINT``, ``LONG``        ``BIGINT``, ``INT8``     ``long``
``TIMESTAMP``               ``TIMESTAMPTZ``          ``timestamp``
``TIMESTAMP_NTZ``           ``TIMESTAMP``            ``timestamp_ntz``
``VARCHAR(3)``              ,                        ``string``, whose column declares ``varchar(3)``
``STRING``                  ``VARCHAR``              ``string``
``ARRAY<INT>``              ``INTEGER[]``            an array
``MAP<STRING, INT>``        ``MAP(VARCHAR, INT)``    a map
``STRUCT<a: INT>``          ``STRUCT(a INT)``        a struct
==========================  =======================  ========================================
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import DeltaError
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from deltaarrow.schema.metadata_keys import (
    CHAR_TYPE_KEY,
    COMMENT_KEY,
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
)
from deltaarrow.spark_sql.text.statement_words import Words

__all__ = [
    "DeclaredColumn",
    "declared_columns",
    "default_text",
    "ensure_no_key",
    "parse_column_options",
    "parse_schema",
    "parse_type",
    "spark_type_name",
]

_SPARK_NAMES = {
    "boolean": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
}
"""Delta's names of types for which Spark's SQL has another."""

_SPARK = {
    **{name: name for name in ("boolean", "float", "double", "date", "string", "binary", "variant", "void")},
    **{name: name for name in ("timestamp", "timestamp_ntz")},
    "tinyint": "byte",
    "byte": "byte",
    "smallint": "short",
    "short": "short",
    "int": "integer",
    "integer": "integer",
    "bigint": "long",
    "long": "long",
    "real": "float",
    "timestamp_ltz": "timestamp",
}
_DUCKDB = {
    **dict.fromkeys(("boolean", "bool", "logical"), "boolean"),
    **dict.fromkeys(("tinyint", "int1"), "byte"),
    **dict.fromkeys(("smallint", "int2", "short"), "short"),
    **dict.fromkeys(("integer", "int", "int4", "signed"), "integer"),
    **dict.fromkeys(("bigint", "int8", "long"), "long"),
    **dict.fromkeys(("real", "float", "float4"), "float"),
    **dict.fromkeys(("double", "float8"), "double"),
    **dict.fromkeys(("varchar", "char", "character", "bpchar", "text", "string"), "string"),
    **dict.fromkeys(("blob", "bytea", "binary", "varbinary"), "binary"),
    **dict.fromkeys(("timestamp", "datetime"), "timestamp_ntz"),
    "date": "date",
    "timestamptz": "timestamp",
    "variant": "variant",
}
_LONG_NAMES = (
    ("timestamp", "WITHOUT", "TIME", "ZONE"),
    ("double", "PRECISION"),
    ("character", "VARYING"),
)
"""Names of DuckDB's types whose first word alone means the same."""
_DECIMALS = ("decimal", "dec", "numeric")
_DIGITS = {"spark": (10, 0), "duckdb": (18, 3)}
_AFTER_EXPRESSION = (",", ")", "NOT NULL", "COMMENT", "GENERATED", "DEFAULT", "CHECK", "CONSTRAINT")
_KEYS = ("PRIMARY KEY", "PRIMARY", "UNIQUE", "REFERENCES", "FOREIGN KEY", "COLLATE", "MASK")


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of a CREATE or an ALTER: a field, and what else the statement says of it.

    Args:
        field: its name, type and metadata.
        check: the condition of a CHECK that stands with it.
    """

    field: Field
    check: str | None = None


def spark_type_name(data_type: DataType) -> str:
    """Return a type as Spark's SQL spells it.

    >>> spark_type_name(StructType([Field("a", ArrayType("long"))]))
    'struct<a:array<bigint>>'
    """
    match data_type:
        case ArrayType():
            return f"array<{spark_type_name(data_type.element_type)}>"
        case MapType():
            return f"map<{spark_type_name(data_type.key_type)},{spark_type_name(data_type.value_type)}>"
        case StructType():
            members = (f"{each.name}:{spark_type_name(each.type)}" for each in data_type.fields)
            return f"struct<{','.join(members)}>"
    return _SPARK_NAMES.get(data_type.type, data_type.type)


def parse_type(words: Words, dialect: Literal["duckdb", "spark"] | None = None) -> tuple[DataType, str]:
    """Go past a type; return it, and its name with the lengths of texts.

    Names of types are those of `dialect`, or else of the dialect of the words.

    >>> parse_type(Words("ARRAY<VARCHAR(3)>"))
    (ArrayType(PrimitiveType("string"), contains_null=True), 'array<varchar(3)>')
    >>> parse_type(Words("STRUCT(a INTEGER, b TIMESTAMPTZ)[]", "duckdb"))[1]
    'array<struct<a:int,b:timestamp>>'
    """
    return _Types(words, dialect or words.dialect).read()


def parse_schema(text: str, *kinds: type[DataType]) -> DataType | None:
    """Return the type of one of the kinds that a text means: the type, or the fields of a struct.

    >>> parse_schema("a INT, b STRING", StructType).names
    ['a', 'b']
    """
    for each in (text, f"STRUCT<{text}>"):
        words = Words(each)
        try:
            found, _ = parse_type(words)
            words.expect_end()
        except DeltaError:
            continue
        if isinstance(found, kinds):
            return found
    return None


def declared_columns(words: Words) -> list[DeclaredColumn]:
    """Go past columns up to a bracket that is closed, which stays.

    >>> [column] = declared_columns(Words("id BIGINT NOT NULL COMMENT 'key'"))
    >>> column.field
    Field(id, PrimitiveType("long"), nullable=False, metadata={'comment': 'key'})
    """
    found = [_column(words)]
    while words.take(","):
        ensure_no_key(words)
        if words.is_at("CONSTRAINT"):
            break
        found.append(_column(words))
    return found


def ensure_no_key(words: Words) -> None:
    """Raise `UnsupportedFeatureError` for what Delta tables do not have."""
    if any(words.is_at(each) for each in _KEYS):
        raise words.unsupported(
            "[UNSUPPORTED_FEATURE.TABLE_OPERATION] Delta tables have no keys, collations and masks",
            words.start,
        )


def _column(words: Words) -> DeclaredColumn:
    name = words.identifier("the name of a column")
    data_type, text = parse_type(words)
    return parse_column_options(words, name, data_type, text)


def parse_column_options(
    words: Words, name: str, data_type: DataType, text: str, *, is_new: bool = True
) -> DeclaredColumn:
    """Go past what follows the name and the type of a column.

    Args:
        words: the words.
        name: the name.
        data_type: the type.
        text: the name of the type, with the lengths of texts.
        is_new: whether the column is that of a new table, which may have NOT NULL, a default and a value.
    """
    options = _Options(words)
    options.read(is_new=is_new)
    metadata: dict[str, Any] = {}
    if text != spark_type_name(data_type):
        metadata[CHAR_TYPE_KEY] = text
    metadata |= options.metadata
    return DeclaredColumn(Field(name, data_type, options.nullable, metadata), options.check)


@dataclass
class _Options:
    words: Words
    nullable: bool = True
    check: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def read(self, *, is_new: bool) -> None:
        words = self.words
        seen = set[str]()
        while True:
            start = words.start
            kind = next((each for each in self._kinds(is_new) if words.take(*each.split())), None)
            if kind is None:
                ensure_no_key(words)
                return
            if kind in seen:
                raise words.refused(
                    f"{kind} is given twice at character {start + 1}; the next column is expected"
                )
            seen.add(kind)
            self._take(kind)

    def _kinds(self, is_new: bool) -> tuple[str, ...]:
        if self.words.dialect == "duckdb":
            return ("NOT NULL", "NULL", "DEFAULT", "CHECK", "GENERATED ALWAYS AS")
        if not is_new:
            return ("NOT NULL", "COMMENT", "DEFAULT")
        return ("NOT NULL", "COMMENT", "DEFAULT", "GENERATED ALWAYS AS", "GENERATED BY DEFAULT AS", "CHECK")

    def _take(self, kind: str) -> None:
        words = self.words
        if kind == "NOT NULL":
            self.nullable = False
        elif kind == "COMMENT":
            self.metadata[COMMENT_KEY] = words.string("the comment of a column")
        elif kind == "DEFAULT":
            self.metadata[DEFAULT_KEY] = default_text(words)
        elif kind == "CHECK":
            self.check = words.bracketed("the condition of a CHECK")
        elif kind.startswith("GENERATED"):
            if words.take("IDENTITY"):
                self._identity(allows_values=kind == "GENERATED BY DEFAULT AS")
            elif kind == "GENERATED BY DEFAULT AS":
                raise words.refused("IDENTITY is expected")
            else:
                self.metadata[GENERATION_KEY] = words.bracketed("the expression of a generated column")
                if words.dialect == "duckdb":
                    raise words.unsupported(
                        "a table stores the expression of a generated column as Spark SQL: declare it with"
                        " dialect='spark'"
                    )

    def _identity(self, *, allows_values: bool) -> None:
        words = self.words
        start = step = 1
        if words.take("("):
            while not words.take(")"):
                if words.take("START", "WITH"):
                    start = _whole_number(words)
                elif words.take("INCREMENT", "BY"):
                    step = _whole_number(words)
                else:
                    raise words.refused("START WITH or INCREMENT BY is expected")
        self.metadata |= {
            IDENTITY_START_KEY: start,
            IDENTITY_STEP_KEY: step,
            IDENTITY_EXPLICIT_KEY: allows_values,
        }


def default_text(words: Words) -> str:
    """Go past the expression of a default; return it as Spark SQL, in which tables store it."""
    if words.dialect == "spark":
        text = words.until(*_AFTER_EXPRESSION)
        if not text:
            raise words.refused("the expression of a default is expected")
        return text
    if words.is_at_string:
        text = words.string("a default")
        return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))
    for word in ("NULL", "TRUE", "FALSE", "CURRENT_TIMESTAMP", "CURRENT_DATE"):
        if words.take(word):
            return word if word[0] != "C" else f"{word}()"
    text = words.until(*_AFTER_EXPRESSION)
    digits = text.removeprefix("-").strip()
    if not digits.replace(".", "", 1).isdecimal():
        raise words.unsupported(
            f"the default {text!r} is no literal: a table stores its expression as Spark SQL, so declare it"
            " with dialect='spark'"
        )
    return text


def _whole_number(words: Words) -> int:
    sign = -1 if words.take("-") else 1
    return sign * words.whole_number("a number of an identity column")


class _Types:
    """Reads one type with the types inside it."""

    def __init__(self, words: Words, dialect: Literal["duckdb", "spark"]) -> None:
        self._words, self._dialect = words, dialect

    def read(self) -> tuple[DataType, str]:
        words = self._words
        start = words.start
        name = words.identifier("a type").lower()
        if self._dialect == "duckdb":
            return self._duckdb(name, start)
        if name == "array":
            words.expect("<")
            element, text = self.read()
            words.expect(">")
            return ArrayType(element), f"array<{text}>"
        if name == "map":
            words.expect("<")
            key, key_text = self.read()
            words.expect(",")
            value, value_text = self.read()
            words.expect(">")
            return MapType(key, value), f"map<{key_text},{value_text}>"
        if name == "struct":
            return self._struct()
        if name in ("char", "character", "varchar") and not words.is_at("("):
            raise words.refused(f"the length of a {name.upper()} in brackets is expected")
        if name in ("char", "character", "varchar"):
            length = self._digits(1)[0]
            return PrimitiveType("string"), f"{'varchar' if name == 'varchar' else 'char'}({length})"
        return self._simple(name, _SPARK, start)

    def _simple(self, name: str, names: Mapping[str, str], start: int) -> tuple[DataType, str]:
        words = self._words
        if name in _DECIMALS:
            precision, scale = _DIGITS[self._dialect]
            if words.is_at("("):
                digits = self._digits(2)
                precision, scale = digits[0], digits[1] if len(digits) > 1 else 0
            if not 1 <= precision <= 38 or scale > precision:
                raise words.unsupported(f"DECIMAL({precision},{scale}): a decimal has 1 to 38 digits", start)
            found: DataType = PrimitiveType(f"decimal({precision},{scale})")
        elif name in names:
            found = PrimitiveType(names[name])
        else:
            known = [*names, *_DECIMALS, "array", "map", "struct"]
            raise words.unsupported(
                f"[UNSUPPORTED_DATATYPE] {words.text[start : words.end]!r} is no type of a Delta table"
                f"{did_you_mean(name, known)} (types: {', '.join(known)})",
                start,
            )
        return found, spark_type_name(found)

    def _digits(self, most: int) -> list[int]:
        words = self._words
        words.expect("(")
        found = [words.whole_number("a length or a number of digits")]
        while len(found) < most and words.take(","):
            found.append(words.whole_number("a number of digits"))
        words.expect(")")
        return found

    def _struct(self) -> tuple[DataType, str]:
        words, fields, texts = self._words, list[Field](), list[str]()
        if words.take("<>"):
            return StructType(), "struct<>"
        words.expect("<")
        while True:
            name = words.identifier("the name of a field")
            words.take(":")
            data_type, text = self.read()
            nullable, metadata = not words.take("NOT", "NULL"), dict[str, Any]()
            if words.take("COMMENT"):
                metadata[COMMENT_KEY] = words.string("the comment of a field")
            fields.append(Field(name, data_type, nullable, metadata))
            texts.append(f"{name}:{text}")
            if not words.take(","):
                words.expect(">")
                return StructType(fields), f"struct<{','.join(texts)}>"

    def _duckdb(self, name: str, start: int) -> tuple[DataType, str]:
        words = self._words
        if name in ("struct", "row"):
            found = self._duckdb_struct()
        elif name == "map":
            words.expect("(")
            key, _ = self.read()
            words.expect(",")
            value, _ = self.read()
            words.expect(")")
            found = MapType(key, value)
        elif name == "timestamp" and words.take("WITH", "TIME", "ZONE"):
            found = PrimitiveType("timestamp")
        else:
            for first, *others in _LONG_NAMES:
                if name == first and words.take(*others):
                    break
            found, _ = self._simple(name, _DUCKDB, start)
            if found == PrimitiveType("string") and words.is_at("("):
                self._digits(1)  # which DuckDB does not heed
        while words.take("[", "]"):
            found = ArrayType(found)
        return found, spark_type_name(found)

    def _duckdb_struct(self) -> DataType:
        words, fields = self._words, list[Field]()
        words.expect("(")
        while True:
            name = words.identifier("the name of a field")
            fields.append(Field(name, self.read()[0]))
            if not words.take(","):
                words.expect(")")
                return StructType(fields)
