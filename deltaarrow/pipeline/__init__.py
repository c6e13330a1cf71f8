"""The pipeline of ``sql/pipeline``: run on Spark by scripts, and followed on one node."""

from deltaarrow.pipeline.follow import FollowReport, follow_once
from deltaarrow.pipeline.run import StepReport, run_scripts, start_spark
from deltaarrow.pipeline.script import Script, read_scripts

__all__ = [
    "FollowReport",
    "Script",
    "StepReport",
    "follow_once",
    "read_scripts",
    "run_scripts",
    "start_spark",
]
