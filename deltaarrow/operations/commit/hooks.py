"""`commit_hooks`: the hooks that run after every commit, in order."""

from collections.abc import Mapping

from deltaarrow.operations.commit.checksum import write_checksum
from deltaarrow.operations.commit.log_maintenance import maintenance_hook
from deltaarrow.operations.commit.symlink_manifests import update_manifests
from deltaarrow.operations.commit.universal_format import write_universal_format
from deltaarrow.transaction import PostCommitHook, PostCommitHookProperties

__all__ = ["commit_hooks"]


def commit_hooks(
    configuration: Mapping[str, str], properties: PostCommitHookProperties | None
) -> list[PostCommitHook]:
    """Return the hooks of a commit: its checksum, Iceberg metadata, checkpoints and clean-up, manifests.

    Args:
        configuration: the properties of the table after the commit.
        properties: which of these the caller wants.
    """
    return [
        write_checksum,
        write_universal_format,
        maintenance_hook(configuration, properties),
        update_manifests,
    ]
