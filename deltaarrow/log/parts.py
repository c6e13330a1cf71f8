"""Parts of a version with a large checkpoint, for tasks of an executor: chapter "Sidecar File Information".

A checkpoint of many files lies in several Parquet files, such as the sidecars of a V2 checkpoint. Each part
has some of them, and replays them as the whole version does: without the actions that commits override. The
actions of commits themselves stay with the process that has the version.
"""

from deltaarrow.log.state import LogState
from deltaarrow.runtime.executors import executor_in_use

__all__ = ["divided"]


def divided(state: LogState) -> list[LogState]:
    """Return the parts of a version for the tasks of the executor in use, at least two.

    Empty if one process reads the checkpoint: a small one, one of a single file, or any without an executor
    that runs tasks elsewhere.
    """
    if state.is_part or state.checkpoint_bytes <= state.limits.divided_bytes:
        return []
    names = [name for files in state.file_actions[1] for name in files.names]
    if len(names) < 2:
        return []
    sizes = state.checkpoint_sizes
    parts = executor_in_use().parts([sizes[name] for name in names])
    if parts is None or len(parts) < 2:
        return []
    return [state.part([names[place] for place in part]) for part in parts]
