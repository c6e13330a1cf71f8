"""The actions of the Delta log as dataclasses, with their JSON and Arrow forms.

Only this package spells the protocol's camelCase names. Chapter "Actions" of the protocol.
"""

from deltaarrow.actions.arrow_tables import (
    CHECKPOINT_SCHEMA,
    FILE_SCHEMA,
    REMOVE_SCHEMA,
    file_table,
    remove_table,
)
from deltaarrow.actions.codec import parse_action, parse_fields, render_action, render_json_lines
from deltaarrow.actions.commit_info import (
    ensure_commit_metadata,
    find_commit_info_faults,
    with_commit_metadata,
)
from deltaarrow.actions.file_key import FileActionKey
from deltaarrow.actions.model import (
    Action,
    AddCDCFile,
    AddFile,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    Sidecar,
)

__all__ = [
    "CHECKPOINT_SCHEMA",
    "FILE_SCHEMA",
    "REMOVE_SCHEMA",
    "Action",
    "AddCDCFile",
    "AddFile",
    "CheckpointMetadata",
    "CommitInfo",
    "DomainMetadata",
    "FileActionKey",
    "Format",
    "Metadata",
    "Protocol",
    "RemoveFile",
    "SetTransaction",
    "Sidecar",
    "ensure_commit_metadata",
    "file_table",
    "find_commit_info_faults",
    "parse_action",
    "parse_fields",
    "remove_table",
    "render_action",
    "render_json_lines",
    "with_commit_metadata",
]
