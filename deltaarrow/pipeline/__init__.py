"""Scripts of Spark SQL run one after the other, on Spark or on one node, with a report on each."""

from deltaarrow.pipeline.engine import Engine, MaintenanceReport, MergeReport, StatementReport
from deltaarrow.pipeline.lines import lines_of
from deltaarrow.pipeline.one_node import OneNodeEngine
from deltaarrow.pipeline.run import StepReport, run_scripts
from deltaarrow.pipeline.run_page import render_run
from deltaarrow.pipeline.script import Script, fill_variables, read_scripts
from deltaarrow.pipeline.spark_engine import ExecutorsEngine, SparkEngine, start_spark

__all__ = [
    "Engine",
    "ExecutorsEngine",
    "MaintenanceReport",
    "MergeReport",
    "OneNodeEngine",
    "Script",
    "SparkEngine",
    "StatementReport",
    "StepReport",
    "fill_variables",
    "lines_of",
    "read_scripts",
    "render_run",
    "run_scripts",
    "start_spark",
]
