"""Checkpoints on demand, and as a hook that runs once a commit is made."""

import logging
from collections.abc import Callable, Mapping

from deltaarrow.clock import Clock, system_clock
from deltaarrow.features import properties
from deltaarrow.log import ManifestFormat, list_segment, replay, write_checkpoint
from deltaarrow.storage import Store

__all__ = ["checkpoint_hook", "create_checkpoint"]

_LOGGER = logging.getLogger(__name__)


def create_checkpoint(
    store: Store,
    version: int,
    *,
    manifest_format: ManifestFormat = "parquet",
    clock: Clock = system_clock,
) -> str:
    """Write a checkpoint of `version` and the hint to it; return its store name.

    The table's properties say whether it is a classic or a V2 one, whose manifest is in the given
    format, and which statistics it holds.

    Raises `UnsupportedFeatureError` when it would lose fields of actions that this release does not know.
    """
    state = replay(store, list_segment(store, version))
    return write_checkpoint(state, manifest_format=manifest_format, clock=clock)


def checkpoint_hook(configuration: Mapping[str, str]) -> Callable[[Store, int], None]:
    """Return the hook that writes a checkpoint every `delta.checkpointInterval` commits.

    The commit is made when the hook runs, so nothing that goes wrong in it may make the commit look
    failed: the error is logged, and the next commit that is due tries again.
    """
    interval = properties.CHECKPOINT_INTERVAL.parse(configuration)

    def write_due_checkpoint(store: Store, version: int) -> None:
        if version == 0 or version % interval:
            return
        try:
            create_checkpoint(store, version)
        except Exception:
            _LOGGER.warning(
                "no checkpoint was written for version %d of %s", version, store.uri, exc_info=True
            )

    return write_due_checkpoint
