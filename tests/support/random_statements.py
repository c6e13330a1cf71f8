"""Random statements of Spark's SQL over a table of odd values, for two engines on copies of one table."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tests.support.dml import (
    COLUMNS,
    Clause,
    Delete,
    Merge,
    StatementMaker,
    Update,
    assignments_sql,
    clause_sql,
    where_sql,
)

__all__ = ["RandomStatement", "RandomStatements"]

_LISTED = ", ".join(COLUMNS.names)
_OTHERS = ", ".join(name for name in COLUMNS.names if name != "p")
_BY_NAME = ["id, s, p", "p, id", "id, x, st, xs", "s", _LISTED]
_VALUES = (
    "(1, 2, 'v', 'NaN', 1.005, DATE'2024-02-29', TIMESTAMP'2024-01-01 00:00:00.5', true, NULL, NULL, 'a')"
)
_ALTERATIONS = [
    "ADD COLUMN more INT COMMENT 'it''s'",
    "ADD COLUMNS (more STRING AFTER id, deep STRUCT<a: INT, b: ARRAY<STRING>> FIRST)",
    "ADD COLUMN st.c DOUBLE",
    "ADD COLUMN ID INT",
    "DROP COLUMN more",
    "DROP COLUMN IF EXISTS deep",
    "RENAME COLUMN more TO `more of it`",
    "RENAME COLUMN s TO id",
    "ALTER COLUMN i COMMENT 'a \"number\"'",
    "ALTER COLUMN i TYPE BIGINT",
    "ALTER COLUMN s TYPE INT",
    "ALTER COLUMN x AFTER id",
    "ALTER COLUMN ok FIRST",
    "ALTER COLUMN s SET DEFAULT 'd'",
    "ALTER COLUMN s DROP DEFAULT",
    "ALTER COLUMN id DROP NOT NULL",
    "ADD CONSTRAINT small CHECK (id < 1000)",
    "ADD CONSTRAINT odd CHECK (id > 5)",
    "ADD CONSTRAINT `a b` CHECK (s <> 'é' OR s IS NULL)",
    "DROP CONSTRAINT small",
    "DROP CONSTRAINT none",
    "SET TBLPROPERTIES ('k' = 'v''', 'delta.dataSkippingNumIndexedCols' = '3')",
    "SET TBLPROPERTIES ('delta.appendOnly' = 'false', 'delta.logRetentionDuration' = 'interval 3 days')",
    "SET TBLPROPERTIES ('delta.noSuch' = '1')",
    "SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "UNSET TBLPROPERTIES ('k')",
    "UNSET TBLPROPERTIES ('none')",
    "UNSET TBLPROPERTIES IF EXISTS ('none')",
]


@dataclass(frozen=True)
class RandomStatement:
    """A statement with ``{t}`` for the table and ``{s}`` for another one, whose rows are `source`.

    `settings` are those of the session.
    """

    text: str
    source: pa.Table | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class RandomStatements:
    """Makes statements, always the same from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._maker = StatementMaker(seed)

    def statement(self, version: int) -> RandomStatement:
        """The next statement, for a table at a version."""
        kind = self._random.choices(
            [self._insert, self._changed, self._altered, self._maintained], [4, 5, 3, 2]
        )[0]
        return kind(version)

    def rows(self, ids: Sequence[int | None]) -> pa.Table:
        """Rows with these `id`."""
        return self._maker.rows(ids)

    def _rows(self) -> pa.Table:
        return self._maker.rows(
            [self._random.randint(0, 40) for _ in range(self._random.choice([0, 1, 3, 6]))]
        )

    def _insert(self, _: int) -> RandomStatement:
        choose = self._random.choice
        named = choose(_BY_NAME)
        text = choose(
            [
                "INSERT INTO {t} SELECT * FROM {s}",
                f"INSERT INTO {{t}} SELECT {_LISTED} FROM {{s}} WHERE id < 20",
                f"INSERT INTO {{t}} ({named}) SELECT {named} FROM {{s}}",
                f"INSERT INTO {{t}} BY NAME SELECT {named} FROM {{s}}",
                f"INSERT INTO {{t}} ({_LISTED}) VALUES {_VALUES}",
                f"INSERT INTO {{t}} PARTITION (p = 'b') SELECT {_OTHERS} FROM {{s}}",
                f"INSERT INTO {{t}} PARTITION (p) SELECT {_LISTED} FROM {{s}}",
                f"INSERT INTO {{t}} SELECT {_LISTED} FROM {{t}} WHERE id % 3 = 0",
                f"INSERT OVERWRITE {{t}} ({_LISTED}) SELECT {_LISTED} FROM {{s}}",
                f"INSERT OVERWRITE {{t}} PARTITION (p = 'a') SELECT {_OTHERS} FROM {{s}}",
                f"INSERT OVERWRITE {{t}} BY NAME SELECT {_LISTED} FROM {{t}} WHERE id > 3",
                "INSERT INTO {t} REPLACE WHERE p = 'a' SELECT * FROM {s} WHERE p = 'a'",
                "INSERT INTO {t} REPLACE WHERE id > 9 AND ok SELECT * FROM {s} WHERE id > 9 AND ok",
                "INSERT INTO {t} REPLACE WHERE id < 10 SELECT * FROM {s}",
                "INSERT INTO {t} BY NAME SELECT id, 'x' AS none FROM {s}",
                "INSERT INTO {t} BY NAME SELECT id, named_struct('a', i, 'z', s) AS st FROM {s}",
                f"INSERT INTO {{t}} ({_LISTED}) VALUES {_VALUES.replace('NULL', 'DEFAULT')}",
                "INSERT INTO {t} BY NAME SELECT id, i + 0.5 AS i, id AS s, at AS day, day AS at FROM {s}",
                "INSERT INTO {t} BY NAME SELECT id, x AS i FROM {s}",
            ]
        )
        settings = {}
        if self._random.random() < 0.2:
            settings["spark.databricks.delta.schema.autoMerge.enabled"] = "true"
        if "OVERWRITE" in text and self._random.random() < 0.4:
            settings["spark.sql.sources.partitionOverwriteMode"] = "dynamic"
        return RandomStatement(text, self._rows(), settings)

    def _changed(self, _: int) -> RandomStatement:
        """DELETE, UPDATE or MERGE."""
        while True:
            match self._maker.statement():
                case Delete(condition):
                    return RandomStatement(f"DELETE FROM {{t}}{where_sql(condition)}")
                case Update(values, condition):
                    return RandomStatement(
                        f"UPDATE {{t}} SET {assignments_sql(values)}{where_sql(condition)}"
                    )
                case Merge(source, on, clauses):
                    return self._merge(source, on, clauses)

    def _merge(self, source: pa.Table | None, on: str, clauses: Sequence[Clause]) -> RandomStatement:
        evolves = self._random.random() < 0.2
        if source is not None and evolves:
            source = source.append_column("grown", pa.array(range(len(source)), pa.int32()))
        text = (
            f"MERGE {'WITH SCHEMA EVOLUTION ' if evolves else ''}INTO {{t}} AS t"
            f" USING {'{t}' if source is None else '{s}'} AS s ON {on} {' '.join(map(clause_sql, clauses))}"
        )
        return RandomStatement(text, source)

    def _altered(self, _: int) -> RandomStatement:
        return RandomStatement(f"ALTER TABLE {{t}} {self._random.choice(_ALTERATIONS)}")

    def _maintained(self, version: int) -> RandomStatement:
        choose = self._random.choice
        return RandomStatement(
            choose(
                [
                    "OPTIMIZE {t}",
                    "OPTIMIZE {t} WHERE p = 'a'",
                    "OPTIMIZE {t} WHERE id = 1",
                    "OPTIMIZE {t} ZORDER BY (id, s)",
                    "REORG TABLE {t} APPLY (PURGE)",
                    f"RESTORE TABLE {{t}} TO VERSION AS OF {self._random.randint(0, version)}",
                    f"RESTORE TABLE {{t}} TO VERSION AS OF {version + 1}",
                    "TRUNCATE TABLE {t}",
                ]
            )
        )
