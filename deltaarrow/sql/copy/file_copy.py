"""`FileCopy`: a COPY INTO, which copies rows of files into a table or only checks them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.operations import WriteOptions, completed_rows
from deltaarrow.sql.copy.copied_files import SourceFiles
from deltaarrow.sql.copy.files_as_relation import copied_files, readable_files
from deltaarrow.sql.copy.source_options import SourceOptions, parse_source_options
from deltaarrow.sql.rows.insertion import InsertedRows
from deltaarrow.sql.rows.statements import COPIED_FILES, CopyInto, Insert
from deltaarrow.sql.session_settings import AUTO_MERGE
from deltaarrow.table import DeltaTable, write_deltalake

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["FileCopy"]

_MOST_SHOWN = 50
"""How many rows VALIDATE shows."""


@dataclass(frozen=True)
class FileCopy:
    """A COPY INTO of certain files.

    Args:
        session: runs its query.
        statement: what it says.
        table: the table.
        options: how files are read.
        files: those that are copied.
        skipped: how many damaged files are left out.
    """

    session: "Session"
    statement: CopyInto
    table: DeltaTable
    options: SourceOptions
    files: SourceFiles
    skipped: int = 0

    @classmethod
    def begin(cls, session: "Session", statement: CopyInto) -> "FileCopy":
        """Find the files that a statement copies. Raises the exceptions of `SourceFiles.find`."""
        table = session.table(statement.table)
        options = parse_source_options(statement.format, statement.format_options)
        files = SourceFiles.find(
            statement.source,
            session.connection.catalog.storage_options,
            files=statement.files,
            pattern=statement.pattern,
            is_recursive=options.is_recursive,
        )
        if not statement.is_forced:
            files = files.new_to(table.snapshot)
        return cls(session, statement, table, options, files)

    def run(self) -> pa.Table:
        """Copy or check the rows, and return the rows of the result.

        Damaged files are found only after one of them has stopped the statement.
        """
        try:
            return self._result()
        except CorruptDataFileError:
            if not self.options.ignores_damaged:
                raise
            readable = readable_files(self.session, self.files, self.statement.format)
            skipped = len(self.files.names) - len(readable.names)
            if not skipped:
                raise
        return replace(self, files=readable, skipped=skipped)._result()

    def _result(self) -> pa.Table:
        if self.statement.validates:
            return self._checked()
        written = self._written() if self.files.names else 0
        counts = {
            "num_affected_rows": written,
            "num_inserted_rows": written,
            "num_skipped_corrupt_files": self.skipped,
        }
        return pa.table({name: [count] for name, count in counts.items()})

    def _written(self) -> int:
        """Copy the rows of the files and remember these, in one commit; return the number of rows."""
        settings = self.session.settings
        transaction = self.table.transaction(
            "COPY INTO",
            commit_properties=settings.commit_properties(is_write=False),
            post_commithook_properties=settings.hook_properties(),
        )
        written = 0
        with transaction, self._rows() as rows:
            self.files.remember(transaction)
            if rows is not None:
                if rows.reads_table:
                    transaction.read_files()
                reader, mode = rows.reader(), self._schema_mode
                written = write_deltalake(transaction, reader, mode="append", schema_mode=mode).num_rows
                transaction.operation, transaction.parameters = "COPY INTO", {}
                transaction.metrics["numSkippedCorruptFiles"] = str(self.skipped)
        return written

    def _checked(self) -> pa.Table:
        """Check the rows of the files as if they were written, and return the first ones."""
        shown, left = list[pa.RecordBatch](), _MOST_SHOWN
        schema = self.table.schema().to_arrow()
        with self._rows() as rows:
            if rows is not None:
                options = WriteOptions(schema_mode=self._schema_mode)
                for batch in completed_rows(self.table.snapshot, rows.reader(), options):
                    schema = batch.schema
                    shown.append(batch.slice(0, left))
                    left -= shown[-1].num_rows
        return pa.Table.from_batches(shown, schema)

    @contextlib.contextmanager
    def _rows(self) -> Iterator[InsertedRows | None]:
        """The rows of the files, as the table takes them; None without files and for empty texts."""
        statement, table = self.statement, self.table
        if not self.files.names:
            yield None
            return
        query = statement.query or f"SELECT * FROM {COPIED_FILES}"
        if statement.most_checked is not None:
            query = f"SELECT * FROM (\n{query}\n) LIMIT {statement.most_checked}"
        insert = Insert(statement.table, query, statement.columns, statement.by_name)
        with (
            self.session.at(table),
            copied_files(self.session, self.files, statement, table.schema(), self.options) as found,
        ):
            evolves = self._schema_mode is not None
            yield InsertedRows(self.session, insert, table.snapshot, evolves) if found else None

    @property
    def _schema_mode(self) -> Literal["merge"] | None:
        return "merge" if self.statement.evolves or self.session.settings[AUTO_MERGE] else None
