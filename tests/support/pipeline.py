"""The scripts of ``sql/pipeline``, and one run of the one that follows silver on one node."""

from pathlib import Path

from deltaarrow.pipeline import MergeReport, OneNodeEngine, run_scripts
from tests.support.modules import ROOT

__all__ = ["FOLLOW", "SCRIPTS", "follow"]

SCRIPTS = ROOT / "sql" / "pipeline"
FOLLOW = SCRIPTS / "follow" / "daily_sales.sql"


def follow(lake: Path) -> MergeReport:
    """Take what is new in silver over to gold, and return what the merge says."""
    ((merge,),) = (step.merges for step in run_scripts(OneNodeEngine(), FOLLOW, {"lake": lake}))
    return merge
